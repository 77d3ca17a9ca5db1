/**
 * Changes of one file happen one after another in this process, whichever tool set makes them.
 */
import type { Folder } from "./folder.js";

type Turns = Map<string, Promise<unknown>>;

/** All copies of this module share the turns: a program may have loaded the package twice. */
const turnsKey = Symbol.for("pawl.tools.file-turns");
const shared = globalThis as { [turnsKey]?: Turns };
shared[turnsKey] ??= new Map();
const turns: Turns = shared[turnsKey];

/**
 * Runs a task when all earlier tasks for this file have ended. The file is known by its folder's identity and its name,
 * so two paths to one folder are one.
 *
 * @throws the reason of the signal if it is aborted before the task begins
 */
export async function inTurn<Result>(
  folder: Folder,
  name: string,
  signal: AbortSignal,
  task: () => Promise<Result>,
): Promise<Result> {
  const { dev, ino } = await folder.handle.stat();
  const key = `${dev}:${ino}/${name}`;
  const before = turns.get(key);
  const own = runAfter(before, signal, task);
  // Anyone who comes later waits for the earlier task too, even if this one is aborted while it waits.
  const settled = Promise.allSettled([before, own]);
  turns.set(key, settled);
  void settled.then(() => {
    if (turns.get(key) === settled) turns.delete(key);
  });
  return await own;
}

async function runAfter<Result>(
  before: Promise<unknown> | undefined,
  signal: AbortSignal,
  task: () => Promise<Result>,
): Promise<Result> {
  if (before !== undefined) await unlessAborted(before, signal);
  signal.throwIfAborted();
  return await task();
}

/** Waits for the promise or the abort, whichever comes first. */
async function unlessAborted(before: Promise<unknown>, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  let stop = () => {};
  const aborted = new Promise<void>((resolve) => {
    stop = resolve;
    signal.addEventListener("abort", stop, { once: true });
  });
  await Promise.race([before, aborted]);
  signal.removeEventListener("abort", stop);
}

/**
 * Serializes the changes of each file within this process, across all tool sets.
 */
import { type Folder, statFolder } from "./folder.js";

type FileQueues = Map<string, Promise<unknown>>;

/** Shared by all copies of this module, because a program may have loaded the package twice. */
const queuesKey = Symbol.for("pawl.tools.file-turns");
const globalQueues = globalThis as { [queuesKey]?: FileQueues };
globalQueues[queuesKey] ??= new Map();
const queues: FileQueues = globalQueues[queuesKey];

/**
 * Runs a task when all earlier tasks for this file have ended. The key is the folder's identity and the file's name, so two paths
 * to the same folder share a queue.
 *
 * @throws the signal's reason if it is aborted before the task begins
 */
export async function runInFileQueue<Result>(
  folder: Folder,
  name: string,
  signal: AbortSignal,
  task: () => Promise<Result>,
): Promise<Result> {
  const { dev, ino } = await statFolder(folder);
  const key = `${dev}:${ino}/${name}`;
  const previous = queues.get(key);
  const result = runAfter(previous, signal, task);
  // Later tasks still wait for the earlier one, even if this task is aborted while it waits.
  const settled = Promise.allSettled([previous, result]);
  queues.set(key, settled);
  void settled.then(() => {
    if (queues.get(key) === settled) queues.delete(key);
  });
  return await result;
}

async function runAfter<Result>(
  previous: Promise<unknown> | undefined,
  signal: AbortSignal,
  task: () => Promise<Result>,
): Promise<Result> {
  if (previous !== undefined) await waitUnlessAborted(previous, signal);
  signal.throwIfAborted();
  return await task();
}

/** Waits for the promise or the abort, whichever comes first. */
async function waitUnlessAborted(previous: Promise<unknown>, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  let stop = () => {};
  const aborted = new Promise<void>((resolve) => {
    stop = resolve;
    signal.addEventListener("abort", stop, { once: true });
  });
  await Promise.race([previous, aborted]);
  signal.removeEventListener("abort", stop);
}

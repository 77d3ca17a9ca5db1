/**
 * Runs one process with a bound on its output and its time. The processes that it has started end with it, as far as
 * they can be found (process-tree.ts).
 */
import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import type { CappedOutput } from "./capped-output.js";
import { type Guard, guardProcess } from "./guard-process.js";
import { createOutputPipe, type OutputPipe } from "./output-pipe.js";
import { markVariable, processesOf } from "./process-tree.js";

export type RunProcessOptions = {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
  /** Null: as long as it takes. */
  readonly timeoutMs: number | null;
  /** Milliseconds from SIGTERM to SIGKILL. */
  readonly killGraceMs: number;
  /** Gets standard output and standard error, in the order in which they were written. */
  readonly output: Pick<CappedOutput, "add">;
  /** Told the id of the process, which leads a process group of its own. */
  readonly onStart?: (pid: number) => void;
};

export type ProcessResult = {
  readonly ended:
    | { readonly how: "exited"; readonly code: number }
    | { readonly how: "killed"; readonly signal: string }
    | { readonly how: "timed_out" }
    | { readonly how: "aborted" };
  /** True if processes were still running in the background. They were killed. */
  readonly leftBehind: boolean;
  /** True if a process still holds the output open, but was not found. */
  readonly mayRunOn: boolean;
};

/**
 * Runs a program without a shell, without standard input, and in its own process group. On abort and on timeout all of
 * its processes get SIGTERM, and then SIGKILL. When the program has ended, the rest of them is killed. If this process
 * dies, a guard kills them.
 *
 * @throws Error if the program cannot be started
 */
export async function runProcess(
  command: readonly [string, ...string[]],
  options: RunProcessOptions,
): Promise<ProcessResult> {
  options.signal.throwIfAborted();
  const mark = randomUUID();
  const pipe = await createOutputPipe();
  const guard = guardProcess(mark);
  try {
    options.signal.throwIfAborted();
    return await runGuarded(command, { mark, guard, pipe }, options);
  } finally {
    pipe.close();
    guard.dismiss();
  }
}

type Means = { readonly mark: string; readonly guard: Guard; readonly pipe: OutputPipe };

async function runGuarded(
  [program, ...args]: readonly [string, ...string[]],
  { mark, guard, pipe }: Means,
  options: RunProcessOptions,
): Promise<ProcessResult> {
  const child = spawn(program, args, {
    cwd: options.cwd,
    env: { ...options.env, [markVariable]: mark },
    detached: true,
    stdio: ["ignore", pipe.end, pipe.end],
  });
  const ended = pipe.readFrom(child, options.output.add);
  if (child.pid !== undefined) {
    guard.watch(child.pid);
    options.onStart?.(child.pid);
  }
  const stopping = stopOnAbortOrTimeout(child, mark, options);
  try {
    const { code, signal } = await exitOf(child);
    const leftBehind = await killRest(child, mark);
    const mayRunOn = !(await outputEnded(ended));
    return { ended: stopping.reason() ?? endedBy(code, signal), leftBehind, mayRunOn };
  } finally {
    stopping.stop();
  }
}

/** A process may start others while it is killed, so they are looked for again; but not for ever. */
const mostRounds = 20;

/** Kills what a program has left behind. Returns whether there was anything. */
async function killRest(child: ChildProcess, mark: string): Promise<boolean> {
  const find = async () => (child.pid === undefined ? [] : await processesOf(child.pid, mark));
  let rest = await find();
  const hadGroup = signalGroup(child, "SIGKILL");
  // A group can also consist of processes that have ended and that nobody has waited for yet. Only /proc shows which.
  const leftBehind = process.platform === "linux" ? rest.length > 0 : hadGroup;
  for (let round = 0; rest.length > 0 && round < mostRounds; round += 1) {
    for (const { pid } of rest) signalProcess(pid, "SIGKILL");
    rest = await find();
  }
  return leftBehind;
}

type Exit = { readonly code: number | null; readonly signal: NodeJS.Signals | null };

function exitOf(child: ChildProcess): Promise<Exit> {
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", (code, signal) => resolve({ code, signal }));
  });
}

function endedBy(code: number | null, signal: string | null): ProcessResult["ended"] {
  return code === null ? { how: "killed", signal: signal ?? "an unknown signal" } : { how: "exited", code };
}

/**
 * Waits until all output has been read, for at most a second. A process that was not found may hold the pipe open for
 * ever.
 *
 * @returns false if the pipe is still held
 */
async function outputEnded(ended: Promise<void>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(resolve, 1000, false);
  });
  const hasEnded = await Promise.race([ended.then(() => true), late]);
  clearTimeout(timer);
  return hasEnded;
}

type Stopping = {
  /** Why the process was stopped; null if it was not. */
  reason(): { readonly how: "timed_out" | "aborted" } | null;
  stop(): void;
};

function stopOnAbortOrTimeout(
  child: ChildProcess,
  mark: string,
  { signal, timeoutMs, killGraceMs }: RunProcessOptions,
): Stopping {
  let reason: ReturnType<Stopping["reason"]> = null;
  let killTimer: NodeJS.Timeout | undefined;
  const end = (how: "timed_out" | "aborted") => {
    if (reason !== null || child.exitCode !== null || child.signalCode !== null) return;
    reason = { how };
    signalGroup(child, "SIGTERM");
    void signalOthers(child, mark);
    killTimer = setTimeout(() => signalGroup(child, "SIGKILL"), killGraceMs);
  };
  const onAbort = () => end("aborted");
  const timer = timeoutMs === null ? undefined : setTimeout(() => end("timed_out"), timeoutMs);
  signal.addEventListener("abort", onAbort, { once: true });
  return {
    reason: () => reason,
    stop: () => {
      clearTimeout(timer);
      clearTimeout(killTimer);
      signal.removeEventListener("abort", onAbort);
    },
  };
}

/** Processes that have left the group get the signal, too. Those that ignore it are killed when the program has ended. */
async function signalOthers(child: ChildProcess, mark: string): Promise<void> {
  if (child.pid === undefined) return;
  for (const { pid, group } of await processesOf(child.pid, mark))
    if (group !== child.pid) signalProcess(pid, "SIGTERM");
}

/** Returns whether the group still had a process. */
function signalGroup(child: ChildProcess, signal: NodeJS.Signals): boolean {
  return child.pid !== undefined && signalProcess(-child.pid, signal);
}

function signalProcess(pid: number, signal: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, signal);
  } catch (error) {
    const isGone = error instanceof Error && "code" in error && (error.code === "ESRCH" || error.code === "EPERM");
    if (!isGone) throw error;
    return false;
  }
}

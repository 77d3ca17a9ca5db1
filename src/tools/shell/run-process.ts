/**
 * Runs one process with limits on its output and its time. The processes that it has started end with it, as far as they can be
 * found (process-tree.ts).
 */
import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import type { CappedOutput } from "./capped-output.js";
import { type Guard, startGuard } from "./guard-process.js";
import { createOutputPipe, type OutputPipe } from "./output-pipe.js";
import { findProcesses, markVariable } from "./process-tree.js";

export type RunProcessOptions = {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
  /** Null for no time limit. */
  readonly timeoutMs: number | null;
  /** Milliseconds between SIGTERM and SIGKILL. */
  readonly killGraceMs: number;
  /** Receives standard output and standard error, in the order in which they were written. */
  readonly output: Pick<CappedOutput, "add">;
  /** Receives standard error, to read it separately. `output` then receives only standard output. */
  readonly errorOutput?: Pick<CappedOutput, "add">;
  /** An open file to use as the standard input of the process. Default: no input. */
  readonly inputFile?: number;
  /** The bytes that the process reads from its file descriptor 3. Default: none. */
  readonly filter?: Uint8Array | null | undefined;
  /** Called with the id of the process, which leads its own process group. */
  readonly onStart?: (pid: number) => void;
};

export type ProcessResult = {
  readonly ended:
    | { readonly how: "exited"; readonly code: number }
    | { readonly how: "killed"; readonly signal: string }
    | { readonly how: "timed_out" }
    | { readonly how: "aborted" };
  /** True if processes were still running in the background and were killed. */
  readonly killedLeftovers: boolean;
  /** True if a process that was not found still holds the output open. */
  readonly mayStillRun: boolean;
};

/**
 * Runs a program without a shell, and in its own process group. On abort or timeout, all its processes get SIGTERM, and then
 * SIGKILL. When the program has ended, its remaining processes are killed. If this process dies, a guard kills them.
 *
 * @throws Error if the program cannot be started
 */
export async function runProcess(
  command: readonly [string, ...string[]],
  options: RunProcessOptions,
): Promise<ProcessResult> {
  options.signal.throwIfAborted();
  const mark = randomUUID();
  const pipe = await createOutputPipe(options.errorOutput === undefined ? ["stdout", "stderr"] : ["stdout"]);
  const errorPipe = options.errorOutput === undefined ? null : await createOutputPipe(["stderr"]);
  const guard = startGuard(mark);
  try {
    options.signal.throwIfAborted();
    return await runGuarded(command, { mark, guard, pipe, errorPipe }, options);
  } finally {
    pipe.close();
    errorPipe?.close();
    guard.dismiss();
  }
}

type ProcessResources = {
  readonly mark: string;
  readonly guard: Guard;
  readonly pipe: OutputPipe;
  /** For standard error; null if `pipe` is for both outputs. */
  readonly errorPipe: OutputPipe | null;
};

async function runGuarded(
  [program, ...args]: readonly [string, ...string[]],
  { mark, guard, pipe, errorPipe }: ProcessResources,
  options: RunProcessOptions,
): Promise<ProcessResult> {
  const child = spawn(program, args, {
    cwd: options.cwd,
    env: { ...options.env, [markVariable]: mark },
    detached: true,
    stdio: [
      options.inputFile ?? "ignore",
      pipe.end,
      (errorPipe ?? pipe).end,
      ...(options.filter == null ? [] : ["pipe" as const]),
    ],
  });
  if (options.filter != null) writeFilter(child.stdio[3], options.filter);
  const ended = Promise.all([
    pipe.readFrom(child, options.output.add),
    options.errorOutput === undefined ? undefined : errorPipe?.readFrom(child, options.errorOutput.add),
  ]);
  if (child.pid !== undefined) {
    guard.watch(child.pid);
    options.onStart?.(child.pid);
  }
  const stopControl = stopOnAbortOrTimeout(child, mark, options);
  try {
    const { code, signal } = await waitForExit(child);
    const killedLeftovers = await killRemaining(child, mark);
    const mayStillRun = !(await waitForOutputEnd(ended));
    return { ended: stopControl.reason() ?? toEnding(code, signal), killedLeftovers, mayStillRun };
  } finally {
    stopControl.stop();
  }
}

function writeFilter(stream: ChildProcess["stdio"][3], filter: Uint8Array): void {
  if (stream === null || stream === undefined || !("write" in stream)) return;
  // The process may already have ended. Its exit code says why.
  stream.on("error", () => {});
  stream.end(filter);
}

/** A process may start others while it is being killed, so the search is repeated, up to this number of times. */
const maxRounds = 20;

/** The first process of a sandbox. It ends just after the program that started it, and all processes of the sandbox end with it. */
const sandboxInit = "bwrap";

/** Kills the processes that a program has left behind. Returns whether there were any that would not have ended by themselves. */
async function killRemaining(child: ChildProcess, mark: string): Promise<boolean> {
  const find = async () => (child.pid === undefined ? [] : await findProcesses(child.pid, mark));
  let remaining = await find();
  const hadGroup = signalGroup(child, "SIGKILL");
  // A group can also consist of zombies: processes that have ended but have not been reaped. Only /proc shows the difference.
  const isSandboxEnding = remaining.some(({ name }) => name === sandboxInit);
  const killedLeftovers = process.platform === "linux" ? remaining.length > 0 && !isSandboxEnding : hadGroup;
  for (let round = 0; remaining.length > 0 && round < maxRounds; round += 1) {
    for (const { pid } of remaining) signalProcess(pid, "SIGKILL");
    remaining = await find();
  }
  return killedLeftovers;
}

type ProcessExit = { readonly code: number | null; readonly signal: NodeJS.Signals | null };

function waitForExit(child: ChildProcess): Promise<ProcessExit> {
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", (code, signal) => resolve({ code, signal }));
  });
}

function toEnding(code: number | null, signal: string | null): ProcessResult["ended"] {
  return code === null ? { how: "killed", signal: signal ?? "an unknown signal" } : { how: "exited", code };
}

/**
 * Waits until all output has been read, for at most a second. A process that was not found may hold the pipe open forever.
 *
 * @returns false if the pipe is still open
 */
async function waitForOutputEnd(ended: Promise<unknown>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const timedOut = new Promise<boolean>((resolve) => {
    timer = setTimeout(resolve, 1000, false);
  });
  const hasEnded = await Promise.race([ended.then(() => true), timedOut]);
  clearTimeout(timer);
  return hasEnded;
}

type StopControl = {
  /** Why the process was stopped; null if it was not. */
  reason(): { readonly how: "timed_out" | "aborted" } | null;
  stop(): void;
};

function stopOnAbortOrTimeout(
  child: ChildProcess,
  mark: string,
  { signal, timeoutMs, killGraceMs }: RunProcessOptions,
): StopControl {
  let reason: ReturnType<StopControl["reason"]> = null;
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

/** Processes that have left the group also get the signal. Those that ignore it are killed when the program has ended. */
async function signalOthers(child: ChildProcess, mark: string): Promise<void> {
  if (child.pid === undefined) return;
  for (const { pid, group } of await findProcesses(child.pid, mark))
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

/**
 * Runs one process with a bound on its output and its time. No process that it has started is left behind.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { createCappedOutput } from "./capped-output.js";

export type RunProcessOptions = {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
  /** Milliseconds from SIGTERM to SIGKILL. */
  readonly killGraceMs: number;
  readonly maxOutputBytes: number;
};

export type ProcessResult = {
  /** Standard output and standard error, in the order of arrival. */
  readonly output: string;
  readonly ended:
    | { readonly how: "exited"; readonly code: number }
    | { readonly how: "killed"; readonly signal: string }
    | { readonly how: "timed_out" }
    | { readonly how: "aborted" };
  /** True if processes were still running in the background. They were killed. */
  readonly leftBehind: boolean;
};

/**
 * Runs a program without a shell, without standard input, and in its own process group. On abort and on timeout the
 * group gets SIGTERM, and then SIGKILL. When the program has ended, the rest of its group is killed.
 *
 * @throws Error if the program cannot be started
 */
export async function runProcess(
  command: readonly [string, ...string[]],
  options: RunProcessOptions,
): Promise<ProcessResult> {
  const output = createCappedOutput(options.maxOutputBytes);
  const [program, ...args] = command;
  options.signal.throwIfAborted();
  const child = spawn(program, args, {
    cwd: options.cwd,
    env: options.env,
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
  });
  child.stdout.on("data", output.add);
  child.stderr.on("data", output.add);
  const stopping = stopOnAbortOrTimeout(child, options);
  try {
    const { code, signal } = await exitOf(child);
    const leftBehind = signalGroup(child, "SIGKILL");
    await outputEnded(child);
    return { output: output.text(), ended: stopping.reason() ?? endedBy(code, signal), leftBehind };
  } finally {
    stopping.stop();
  }
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
 * Waits until all output has been read, for at most a second. A process that has left the group may hold the pipes open
 * for ever, so the pipes are closed then.
 */
async function outputEnded(child: ChildProcess): Promise<void> {
  const streams = [child.stdout, child.stderr].filter((stream) => stream !== null);
  const closed = Promise.all(
    streams.map((stream) => (stream.closed ? undefined : new Promise((resolve) => stream.once("close", resolve)))),
  );
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise((resolve) => {
    timer = setTimeout(resolve, 1000);
  });
  await Promise.race([closed, late]);
  clearTimeout(timer);
  for (const stream of streams) stream.destroy();
}

type Stopping = {
  /** Why the process was stopped; null if it was not. */
  reason(): { readonly how: "timed_out" | "aborted" } | null;
  stop(): void;
};

function stopOnAbortOrTimeout(child: ChildProcess, { signal, timeoutMs, killGraceMs }: RunProcessOptions): Stopping {
  let reason: ReturnType<Stopping["reason"]> = null;
  let killTimer: NodeJS.Timeout | undefined;
  const end = (how: "timed_out" | "aborted") => {
    if (reason !== null || child.exitCode !== null || child.signalCode !== null) return;
    reason = { how };
    signalGroup(child, "SIGTERM");
    killTimer = setTimeout(() => signalGroup(child, "SIGKILL"), killGraceMs);
  };
  const onAbort = () => end("aborted");
  const timer = setTimeout(() => end("timed_out"), timeoutMs);
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

/** Returns whether the group still had a process. */
function signalGroup(child: ChildProcess, signal: NodeJS.Signals): boolean {
  if (child.pid === undefined) return false;
  try {
    return process.kill(-child.pid, signal);
  } catch (error) {
    const isGone = error instanceof Error && "code" in error && (error.code === "ESRCH" || error.code === "EPERM");
    if (!isGone) throw error;
    return false;
  }
}

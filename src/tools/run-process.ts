/**
 * One process, with all that it starts: its output bounded, its time bounded, and nothing of it left behind.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { createCappedOutput } from "./capped-output.js";

export type RunProcessOptions = {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
  /** From SIGTERM to SIGKILL. */
  readonly killGraceMs: number;
  readonly maxOutputBytes: number;
};

export type ProcessResult = {
  /** Standard output and standard error, in the order in which they came. */
  readonly output: string;
  readonly ended:
    | { readonly how: "exited"; readonly code: number }
    | { readonly how: "killed"; readonly signal: string }
    | { readonly how: "timed_out" }
    | { readonly how: "aborted" };
  /** Processes were still running in the background and were ended. */
  readonly leftBehind: boolean;
};

/**
 * Runs a program without a shell, with nothing on its standard input and in a process group of its own, which is sent SIGTERM and then SIGKILL on
 * abort and on timeout. When the program has ended, what is left of its group is killed.
 *
 * @throws Error where it cannot be started.
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
 * Waits until what was written has been read. A process that left the group may hold the pipes open for ever: then what is there is
 * taken, and the pipes are closed.
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
  /** Why the process was told to stop; null where it was not. */
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

/** Whether anything of the group was there to be signalled. */
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

/**
 * Ctrl-C and the signals that ask a process to go (CLI-3, REC-10).
 */
import { exitCodes } from "./exit.js";
import type { Terminal } from "./terminal.js";

export type Interruptions = {
  /** Aborted by the first Ctrl-C: the run is to end, and its end to be waited for. The second leaves at once. */
  readonly stop: AbortSignal;
  /** Aborted by SIGTERM and by a terminal that was closed: what runs is to settle, and the process to go. */
  readonly leave: AbortSignal;
  /** What Ctrl-C does, where it comes as a key. */
  readonly interrupt: () => void;
};

export function listenForInterruptions(terminal: Terminal): Interruptions {
  const stop = new AbortController();
  const leave = new AbortController();

  function interrupt(): void {
    if (stop.signal.aborted) {
      terminal.status(null);
      process.exit(exitCodes.aborted);
    }
    stop.abort();
  }

  process.on("SIGINT", interrupt);
  for (const signal of ["SIGTERM", "SIGHUP"] as const) process.on(signal, () => leave.abort());
  return { stop: stop.signal, leave: leave.signal, interrupt };
}

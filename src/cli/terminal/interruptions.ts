/**
 * Ctrl-C, and the signals that ask a process to exit (CLI-3, REC-10).
 */
import { exitCodes } from "../exit.js";
import type { Terminal } from "./terminal.js";

export type Interruptions = {
  /** Aborted by the first Ctrl-C: end the run and wait for its end. A second Ctrl-C exits at once. */
  readonly stop: AbortSignal;
  /** Aborted by SIGTERM, and when the terminal closes: let running tools finish within a grace period, then exit. */
  readonly shutdown: AbortSignal;
  /** Does what Ctrl-C does. In raw mode, the terminal sends a character for Ctrl-C instead of a signal. */
  readonly interrupt: () => void;
};

export function listenForInterruptions(terminal: Terminal): Interruptions {
  const stop = new AbortController();
  const shutdown = new AbortController();

  function interrupt(): void {
    if (stop.signal.aborted) {
      terminal.status(null);
      process.exit(exitCodes.aborted);
    }
    stop.abort();
  }

  process.on("SIGINT", interrupt);
  for (const signal of ["SIGTERM", "SIGHUP"] as const) process.on(signal, () => shutdown.abort());
  return { stop: stop.signal, shutdown: shutdown.signal, interrupt };
}

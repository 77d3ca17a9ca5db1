/**
 * What a process offers beside the Web APIs.
 */
import { getEventListeners } from "node:events";

/** Tells the user of this process something that stops nothing. `code` names the kind of the warning. */
export function warn(message: string, code: string): void {
  process.emitWarning(message, { type: "PawlWarning", code });
}

/** Calls back in the next turn of the event loop, after what is waiting already. */
export function scheduleNextTurn(callback: () => void): void {
  setImmediate(callback);
}

/** Whether somebody may still listen to a signal, so that it cannot be used again for something else. */
export function mayHaveListeners(signal: AbortSignal): boolean {
  return getEventListeners(signal, "abort").length > 0;
}

/** A timer that does not keep the process running. Gives the function that stops it. */
export function startIdleTimer(ms: number, callback: () => void): () => void {
  const timer = setTimeout(callback, ms);
  timer.unref();
  return () => clearTimeout(timer);
}

/**
 * Process primitives that are missing from the Web APIs.
 */
import { getEventListeners } from "node:events";

/** Warns the user of this process. `code` identifies the kind of warning. */
export function warn(message: string, code: string): void {
  process.emitWarning(message, { type: "PawlWarning", code });
}

/** Calls back in the next turn of the event loop, after everything that is already queued. */
export function scheduleNextTurn(callback: () => void): void {
  setImmediate(callback);
}

/**
 * Whether a signal may still have listeners and so cannot be reused. A signal derived with `AbortSignal.any` is not in the listener list:
 * Node stores it in a symbol property that a new signal does not have.
 */
export function mayHaveListeners(signal: AbortSignal): boolean {
  newSignalSymbols ??= countSymbols(new AbortController().signal);
  return getEventListeners(signal, "abort").length > 0 || countSymbols(signal) !== newSignalSymbols;
}

let newSignalSymbols: number | undefined;

function countSymbols(signal: AbortSignal): number {
  return Object.getOwnPropertySymbols(signal).length;
}

/** Starts a timer that does not keep the process running. Returns a function that stops it. */
export function startIdleTimer(ms: number, callback: () => void): () => void {
  const timer = setTimeout(callback, ms);
  timer.unref();
  return () => clearTimeout(timer);
}

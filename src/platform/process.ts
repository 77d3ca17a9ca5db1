/**
 * Process primitives that the Web APIs do not have.
 */
import { getEventListeners } from "node:events";

/** Warns the user of this process. `code` names the kind of the warning. */
export function warn(message: string, code: string): void {
  process.emitWarning(message, { type: "PawlWarning", code });
}

/** Calls back in the next turn of the event loop, after everything that is already queued. */
export function scheduleNextTurn(callback: () => void): void {
  setImmediate(callback);
}

/**
 * Whether a signal may still have listeners, so that it cannot be reused. A signal that `AbortSignal.any` has made of it is not among its
 * listeners, but in a property that a new signal does not have.
 */
export function mayHaveListeners(signal: AbortSignal): boolean {
  newSignalSymbols ??= countSymbols(new AbortController().signal);
  return getEventListeners(signal, "abort").length > 0 || countSymbols(signal) !== newSignalSymbols;
}

let newSignalSymbols: number | undefined;

function countSymbols(signal: AbortSignal): number {
  return Object.getOwnPropertySymbols(signal).length;
}

/** A timer that does not keep the process running. Returns the function that stops it. */
export function startIdleTimer(ms: number, callback: () => void): () => void {
  const timer = setTimeout(callback, ms);
  timer.unref();
  return () => clearTimeout(timer);
}

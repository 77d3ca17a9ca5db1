/**
 * Turns of the event loop.
 */

/** Calls back after everything that is ready now has run. */
export const afterTurn: (call: () => void) => void =
  typeof setImmediate === "function" ? (call) => void setImmediate(call) : (call) => void setTimeout(call, 0);

/** What never settles: its waiters are let go. */
export function never(): Promise<never> {
  return new Promise(() => {});
}

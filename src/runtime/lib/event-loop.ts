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

/** How long code from outside may keep one turn, in milliseconds. */
const maxTurnMs = 100;

let turnStart: number | null = null;

/**
 * Called between two values of an iterable from outside, which may give values forever without waiting for anything. Then
 * promises alone never let a timer fire or a request in. Gives a promise to wait for if this turn has lasted long enough,
 * whatever it was spent on. A stream that waits for real input ends its turns by itself, so it never waits here.
 */
export function yieldTurn(): Promise<void> | undefined {
  if (turnStart === null) {
    turnStart = performance.now();
    afterTurn(() => {
      turnStart = null;
    });
    return undefined;
  }
  return performance.now() - turnStart < maxTurnMs ? undefined : new Promise(afterTurn);
}

/**
 * Waits for turns of the event loop.
 */

/** Calls a function after everything that is ready now has run. */
export const afterTurn: (call: () => void) => void =
  typeof setImmediate === "function" ? (call) => void setImmediate(call) : (call) => void setTimeout(call, 0);

/** A promise that never settles, for code that must not continue: its waiters can be garbage-collected. */
export function never(): Promise<never> {
  return new Promise(() => {});
}

/** How long foreign code may occupy one turn, in milliseconds. */
const maxTurnMs = 20;

let turnStart: number | null = null;

/**
 * Call this between two values of a foreign iterable. An iterable that never waits for I/O would otherwise keep timers from firing and
 * requests from being served, because promises alone never end a turn. Returns a promise to await if this turn has lasted too long,
 * whatever the reason. A stream that waits for real input ends its turns by itself, so it never waits here.
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

/**
 * Waits for turns of the event loop.
 */
import type { Clock } from "../../ports/clock.js";

/** Calls a function after everything that is ready now has run. */
export const afterTurn: (call: () => void) => void =
  typeof setImmediate === "function" ? (call) => void setImmediate(call) : (call) => void setTimeout(call, 0);

/** A promise that never settles, for code that must not continue: its waiters can be garbage-collected. */
export function never(): Promise<never> {
  return new Promise(() => {});
}

/** How long foreign code may occupy one turn, in milliseconds. */
const maxTurnMs = 20;

/** The maximum number of values in one turn, because the clock of a test stands still. */
const maxTurnValues = 10_000;

/** The time and the values that the streams of each clock have used in the current turn. */
const turns = new Map<Clock, { readonly startedAt: number; values: number }>();

/**
 * Call this between two values of a foreign iterable. An iterable that never waits for I/O would otherwise keep timers from firing and
 * requests from being served, because promises alone never end a turn. Returns a promise to await if this turn has lasted too long,
 * whatever the reason. A stream that waits for real input ends its turns by itself, so it never waits here.
 * @param clock that of the agent: with a test's clock, how long a turn really lasts changes nothing
 */
export function yieldTurn(clock: Clock): Promise<void> | undefined {
  const turn = turns.get(clock);
  if (turn === undefined) {
    if (turns.size === 0) afterTurn(() => turns.clear());
    turns.set(clock, { startedAt: clock.elapsed(), values: 1 });
    return undefined;
  }
  turn.values += 1;
  const isOver = turn.values >= maxTurnValues || clock.elapsed() - turn.startedAt >= maxTurnMs;
  return isOver ? new Promise(afterTurn) : undefined;
}

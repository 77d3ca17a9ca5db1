/**
 * Backoff for workers that share a store. All of them are notified of a message at the same moment and see the same list, so
 * each would try to claim all of it, and all but one would lose.
 *
 * 1. A worker that has lost a claim waits for a short random time before it looks for due sessions. So one worker is first,
 *    and the others see the sessions that it has left.
 * 2. A worker begins with few claims in flight, adds one after each claim that it wins, and goes down to one after a loss. So
 *    it loses few claims before it notices the others, and few from a list that another worker is claiming.
 * 3. A lone worker loses no claim and never waits. Soon it claims all sessions at once, so that they run in parallel and
 *    share commits.
 * 4. The wait is bounded, and no other worker can prolong it: a session that the first worker leaves is claimed by the next.
 */
import type { Clock } from "../ports/clock.js";

/** The maximum wait before a worker looks for due sessions, in milliseconds. */
const maxWaitMs = 40;

/** How long after a lost claim a worker assumes that others look at the same list, in milliseconds. */
const lossMemoryMs = 30_000;

/** How many claims may be in flight: at first, and after a loss. */
const claimLimits = { first: 2, least: 1 } as const;

export type Contention = {
  /** This worker won a claim. */
  readonly recordWin: () => void;
  /** Another worker won the claim. */
  readonly recordLoss: () => void;
  /** How many claims this worker has lost so far. */
  readonly losses: () => number;
  /** Waits before this worker looks for due sessions, if other workers also look. */
  readonly backOff: () => Promise<void>;
  /** How many claims may be in flight now. */
  readonly maxClaims: () => number;
};

/** @param random returns a number from 0 up to 1 */
export function createContention(clock: Clock, random: () => number): Contention {
  let losses = 0;
  let claimLimit: number = claimLimits.first;
  let contendedUntil = Number.NEGATIVE_INFINITY;
  return {
    recordWin() {
      claimLimit += 1;
    },
    recordLoss() {
      losses += 1;
      claimLimit = claimLimits.least;
      contendedUntil = clock.elapsed() + lossMemoryMs;
    },
    losses: () => losses,
    async backOff() {
      if (clock.elapsed() < contendedUntil)
        await new Promise<void>((resolve) => void clock.after(random() * maxWaitMs, resolve));
    },
    maxClaims: () => claimLimit,
  };
}

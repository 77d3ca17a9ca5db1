/**
 * Keeps workers on one store out of each other's way. All of them are notified of a message at the same moment and see the
 * same list, so each would claim all of it, and all but one would lose.
 *
 * 1. A worker that has lost a claim waits for a short random time before it looks for due sessions. So one worker is first,
 *    and the others see what it has left.
 * 2. A worker has few claims in flight at first, one more after each claim that it won, and only one after a loss. So it
 *    loses few before it knows of the others, and few of a list that another worker is claiming.
 * 3. A worker that is alone loses no claim, and never waits. Soon it claims all at once, so that its sessions run side by
 *    side and share commits.
 * 4. The wait is bounded, and no other worker can prolong it: a session that the first one leaves is claimed by the next.
 */
import type { Clock } from "../ports/clock.js";

/** The maximum wait before a worker looks for due sessions, in milliseconds. */
const maxWaitMs = 40;

/** How long after a lost claim a worker assumes that others look at the same list, in milliseconds. */
const lossMemoryMs = 30_000;

/** How many claims may be in flight: at first, and after a loss. */
const claimLimits = { first: 2, least: 1 } as const;

export type Contention = {
  /** This worker was first. */
  readonly recordWin: () => void;
  /** Another worker was faster. */
  readonly recordLoss: () => void;
  /** How many claims were lost until now. */
  readonly losses: () => number;
  /** Waits before this worker looks for due sessions, if other workers also look. */
  readonly backOff: () => Promise<void>;
  /** How many claims may be in flight now. */
  readonly maxClaims: () => number;
};

/** @param random a number from 0 up to 1 */
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

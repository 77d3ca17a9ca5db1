/**
 * How workers on one store keep out of each other's way. All of them are told of a message at the same moment and see the same list, so
 * each would claim all of it, and all but one would lose.
 *
 * 1. A worker that has lost a claim waits a short time by chance before it looks at what is due. So one worker is first, and the others
 *    see what it has left.
 * 2. A worker has few claims under way at first, one more after each that it won, and one after one that it lost. So it loses few before
 *    it knows of the others, and few of a list that another one is at.
 * 3. A worker that is alone loses no claim, and never waits. Soon it claims all at once, so that its sessions go on side by side and
 *    share commits.
 * 4. The wait has an end that no other worker can put off: a session that the first one leaves is taken by the next.
 */
import type { Clock } from "../ports/clock.js";

/** The longest wait before a look, in milliseconds. */
const maxWaitMs = 40;

/** So long after a lost claim a worker takes it that others look at the same list, in milliseconds. */
const lossMemoryMs = 30_000;

/** How many claims are under way at once: at first, and after one that was lost. */
const claimLimits = { first: 2, least: 1 } as const;

export type Contention = {
  /** This worker was first. */
  readonly recordWin: () => void;
  /** Another worker was quicker. */
  readonly recordLoss: () => void;
  /** How many claims were lost until now. */
  readonly losses: () => number;
  /** Waits before a look if others look, too. */
  readonly backOff: () => Promise<void>;
  /** How many claims may be under way now. */
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

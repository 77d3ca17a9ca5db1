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
const longestWaitMs = 40;

/** So long after a lost claim a worker takes it that others look at the same list, in milliseconds. */
const rememberedMs = 30_000;

/** How many claims are under way at once: at first, and after one that was lost. */
const claims = { first: 2, least: 1 } as const;

export type Contention = {
  /** This worker was first. */
  readonly won: () => void;
  /** Another worker was quicker. */
  readonly lost: () => void;
  /** How many claims were lost until now. */
  readonly losses: () => number;
  /** Waits before a look if others look, too. */
  readonly wait: () => Promise<void>;
  /** How many claims may be under way now. */
  readonly mostClaims: () => number;
};

/** @param random a number from 0 up to 1 */
export function createContention(clock: Clock, random: () => number): Contention {
  let losses = 0;
  let most: number = claims.first;
  let rememberedUntil = Number.NEGATIVE_INFINITY;
  return {
    won() {
      most += 1;
    },
    lost() {
      losses += 1;
      most = claims.least;
      rememberedUntil = clock.elapsed() + rememberedMs;
    },
    losses: () => losses,
    async wait() {
      if (clock.elapsed() < rememberedUntil)
        await new Promise<void>((resolve) => void clock.after(random() * longestWaitMs, resolve));
    },
    mostClaims: () => most,
  };
}

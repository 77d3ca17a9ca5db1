/**
 * Sending a statement again: with pauses that grow, and until the patience ends.
 */
import { isBroken, isPassing } from "./client.js";

const firstPauseMs = 2;
const longestPauseMs = 200;

/** Waits before the next attempt; false if the patience has ended. */
export type Patience = () => Promise<boolean>;

/** @param ms from now on, with the time that statements take */
export function createPatience(ms: number): Patience {
  const end = performance.now() + ms;
  let pause = firstPauseMs;
  return async () => {
    if (performance.now() >= end) return false;
    // Half of it by chance, so that those who met do not meet again.
    await new Promise((resolve) => setTimeout(resolve, pause * (0.5 + Math.random())));
    pause = Math.min(pause * 2, longestPauseMs);
    return true;
  };
}

/**
 * Does something until the server has answered.
 * @param work may take effect more than once. It is told whether an earlier attempt may have taken effect.
 */
export async function patiently<Result>(work: (isAgain: boolean) => Promise<Result>, ms: number): Promise<Result> {
  const wait = createPatience(ms);
  for (let isAgain = false; ; ) {
    try {
      return await work(isAgain);
    } catch (error) {
      const isLost = isBroken(error);
      if (!(isLost || isPassing(error)) || !(await wait())) throw error;
      isAgain ||= isLost;
    }
  }
}

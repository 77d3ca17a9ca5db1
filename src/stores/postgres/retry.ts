/**
 * Retries statements with exponential backoff, up to a time limit.
 */
import { isConnectionLost, isTransient } from "./client.js";

const initialPauseMs = 2;
const maxPauseMs = 200;

/** Waits before the next attempt. Resolves to false if the time limit has passed. */
export type Backoff = () => Promise<boolean>;

/** @param limitMs counted from now, including the time that statements take */
export function createBackoff(limitMs: number): Backoff {
  const deadline = performance.now() + limitMs;
  let pauseMs = initialPauseMs;
  return async () => {
    if (performance.now() >= deadline) return false;
    // ±50 % jitter, to avoid repeated collisions.
    await new Promise((resolve) => setTimeout(resolve, pauseMs * (0.5 + Math.random())));
    pauseMs = Math.min(pauseMs * 2, maxPauseMs);
    return true;
  };
}

/**
 * Retries `work` until the server has replied.
 * @param work may take effect more than once. Its argument says whether an earlier attempt may have taken effect.
 */
export async function retryTransient<Result>(
  work: (isRetry: boolean) => Promise<Result>,
  limitMs: number,
): Promise<Result> {
  const backOff = createBackoff(limitMs);
  for (let isRetry = false; ; ) {
    try {
      return await work(isRetry);
    } catch (error) {
      const isLost = isConnectionLost(error);
      if (!(isLost || isTransient(error)) || !(await backOff())) throw error;
      isRetry ||= isLost;
    }
  }
}

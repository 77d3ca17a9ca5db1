/**
 * The retry port: whether and when a failed attempt of a model call is retried.
 */
import type { ModelFailure } from "../core/data/message.js";

/** Decides what follows a failed attempt of a model call. */
export interface RetryPolicy {
  /**
   * Called after each failed attempt. Returns how long to wait before the next attempt, or why to give up.
   * @param failure why the attempt failed
   * @param attempt the number of the failed attempt, from 1
   * @param elapsedMs milliseconds since the first attempt of this call began
   * @param hasAnswered whether a model has answered in the session before; absent means false
   */
  decide(
    failure: ModelFailure,
    attempt: number,
    elapsedMs: number,
    hasAnswered?: boolean,
  ): { readonly retryInMs: number } | { readonly giveUp: string };
}

/** Adjusts the default policy. Times are in milliseconds. */
export type RetryOptions = {
  /** The maximum number of retries of one call. Default: 5. */
  readonly maxRetries?: number;
  /** The first delay. Each further delay is twice as long, and each is shortened by a random amount of up to half. Default: 2,000. */
  readonly baseDelayMs?: number;
  /** The maximum delay that the policy chooses itself. A provider may ask for a longer one. Default: 30,000. */
  readonly maxDelayMs?: number;
  /** The HTTP statuses for which a failure of kind `provider` is retried. Default: 500, 502, 503, 504, 529. */
  readonly statusCodes?: readonly number[];
};

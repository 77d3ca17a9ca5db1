/**
 * The retry port: whether and when a failed attempt of a model call is retried.
 */
import type { ModelFailure } from "../core/data/message.js";

/** Decides what follows a failed attempt of a model call. */
export interface RetryPolicy {
  /**
   * Called after each failed attempt: how long to wait for the next one, or why there is none.
   * @param failure why the attempt failed
   * @param attempt the number of the failed attempt, from 1
   * @param elapsedMs milliseconds since the first attempt of this call began
   * @param hasAnswered whether a model has answered in the session before; absent is false
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
  /** The first delay. Each further delay is twice as long. Each is shortened at random by up to half. Default: 2,000. */
  readonly baseDelayMs?: number;
  /** The maximum delay that the policy chooses itself. A provider may ask for more. Default: 30,000. */
  readonly maxDelayMs?: number;
  /** The HTTP statuses at which a failure of kind `provider` is retried. Default: 500, 502, 503, 504, 529. */
  readonly statusCodes?: readonly number[];
};

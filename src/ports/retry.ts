/**
 * The retry port: what follows a failed attempt of a model call.
 */
import type { ModelFailure } from "../core/data/message.js";

export interface RetryPolicy {
  /**
   * @param failure what went wrong
   * @param attempt the attempt that failed, from 1
   * @param elapsedMs since the first attempt of this call began
   */
  decide(
    failure: ModelFailure,
    attempt: number,
    elapsedMs: number,
  ): { readonly retryInMs: number } | { readonly giveUp: string };
}

/** Adjusts the default policy. Times are milliseconds. */
export type RetryOptions = {
  /** Retries of one call; 5. */
  readonly maxRetries?: number;
  /** The first wait; doubled each time; 2,000. */
  readonly baseDelayMs?: number;
  /** The longest wait of our own making; 30,000. */
  readonly maxDelayMs?: number;
  /** HTTP statuses of kind `provider` that are tried again; 500, 502, 503, 504, 529. */
  readonly statusCodes?: readonly number[];
};

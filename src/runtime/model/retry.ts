/**
 * Decides whether a failed attempt is retried. The default policy (RTRY-2) depends on the kind of the failure first, then on
 * its status.
 */
import { checkOptions, numberFrom, type OptionTable } from "../../check-options.js";
import { deepFreeze } from "../../core/data/freeze.js";
import { type ModelFailure, nothingListensCode } from "../../core/data/message.js";
import type { RetryOptions, RetryPolicy } from "../../ports/retry.js";

const retryDefaults = {
  maxRetries: 5,
  baseDelayMs: 2_000,
  maxDelayMs: 30_000,
  statusCodes: [500, 502, 503, 504, 529],
} as const satisfies Required<RetryOptions>;

const retryRules: OptionTable<RetryOptions> = {
  maxRetries: numberFrom(0),
  baseDelayMs: numberFrom(0),
  maxDelayMs: numberFrom(0),
  statusCodes: {
    accepts: (value) => Array.isArray(value) && value.every(Number.isSafeInteger),
    expected: "a list of HTTP status codes",
  },
};

/** The longest delay that a provider may ask for. If it asks for more, the policy gives up. */
const maxRetryAfterMs = 60_000;

/**
 * The delays if nothing listens on an address of this machine. Waiting does not start a server, so there is only one more attempt, unless
 * the server has answered before: it may be restarting.
 */
const nothingListensDelayMs = 250;
const maxNothingListensDelayMs = 4_000;
const serverMayStartForMs = 30_000;

/**
 * Exponential backoff from `baseDelayMs` to `maxDelayMs`, shortened at random by up to half as jitter, so that clients do not all retry at
 * the same time. If a provider asks for a delay of up to 60 s (`Retry-After`), exactly that delay is used.
 *
 * @param random returns a number from 0 (inclusive) to 1 (exclusive). Default: `Math.random`
 * @throws PawlError `bad_configuration` for an unknown option, or a count or a time that is negative or not a number
 */
export function createRetryPolicy(options: RetryOptions = {}, random: () => number = Math.random): RetryPolicy {
  checkOptions("retry", retryRules, options);
  const {
    maxRetries = retryDefaults.maxRetries,
    baseDelayMs = retryDefaults.baseDelayMs,
    maxDelayMs = retryDefaults.maxDelayMs,
  } = options;
  const statusCodes: ReadonlySet<number> = new Set(options.statusCodes ?? retryDefaults.statusCodes);

  return {
    decide(failure, attempt, elapsedMs, hasAnswered = false) {
      const refusal = findRefusal(failure, statusCodes);
      if (refusal !== undefined) return { giveUp: refusal };
      if (failure.code === nothingListensCode && hasAnswered && maxRetries > 0)
        return afterServerLeft(attempt, elapsedMs);
      if (attempt > maxRetries) {
        return {
          giveUp: `It failed ${attempt === 1 ? "once" : `${attempt} times`}; the limit is ${maxRetries} retries.`,
        };
      }
      if (failure.code === nothingListensCode) return afterNothingListens(attempt);
      if (failure.retryAfterMs !== undefined) return { retryInMs: failure.retryAfterMs };
      const delay = Math.min(maxDelayMs, baseDelayMs * 2 ** (attempt - 1));
      return { retryInMs: Math.round(delay * (0.5 + random() / 2)) };
    },
  };
}

function afterNothingListens(attempt: number): ReturnType<RetryPolicy["decide"]> {
  return attempt === 1
    ? { retryInMs: nothingListensDelayMs }
    : { giveUp: "Nothing listens on that address of this machine, and waiting does not start a server." };
}

/** The delay doubles from one attempt to the next, and the last attempt is at the end of the period. */
function afterServerLeft(attempt: number, elapsedMs: number): ReturnType<RetryPolicy["decide"]> {
  const remainingMs = serverMayStartForMs - elapsedMs;
  if (remainingMs <= 0)
    return {
      giveUp: `Nothing has listened on that address of this machine for ${serverMayStartForMs / 1_000} s. Start the model server again.`,
    };
  return { retryInMs: Math.min(remainingMs, maxNothingListensDelayMs, nothingListensDelayMs * 2 ** (attempt - 1)) };
}

/**
 * Milliseconds until the next attempt; undefined if the policy gives up. A policy may be a user's code: if it throws, or returns no valid
 * time, it counts as giving up.
 *
 * @param attempts failed attempts so far
 */
export function retryDelayMs(
  policy: RetryPolicy,
  failure: ModelFailure,
  attempts: number,
  elapsedMs: number,
  hasAnswered: boolean,
): number | undefined {
  try {
    const { retryInMs } = policy.decide(deepFreeze(failure), attempts, Math.max(0, elapsedMs), hasAnswered) as {
      readonly retryInMs?: unknown;
    };
    return typeof retryInMs === "number" && Number.isFinite(retryInMs) ? Math.max(0, retryInMs) : undefined;
  } catch {
    return undefined;
  }
}

/** Why a failure should not be retried; undefined if it should. */
function findRefusal(failure: ModelFailure, statusCodes: ReadonlySet<number>): string | undefined {
  switch (failure.kind) {
    case "rate_limit":
    case "overloaded":
    case "timeout":
    case "network":
      return refuseLongWait(failure.retryAfterMs);
    case "provider":
      if (failure.statusCode !== undefined && statusCodes.has(failure.statusCode))
        return refuseLongWait(failure.retryAfterMs);
      return failure.statusCode === undefined
        ? "A provider's failure without a status is not retried."
        : `Status ${failure.statusCode} is not retried.`;
    case "context_overflow":
      return "The request does not fit the model's context window: it has to be shortened, not retried.";
    case "quota":
    case "auth":
    case "invalid_request":
    case "content_filter":
    case "cancelled":
      return `A failure of kind ${failure.kind} is not retried.`;
  }
}

function refuseLongWait(retryAfterMs: number | undefined): string | undefined {
  if (retryAfterMs === undefined || retryAfterMs <= maxRetryAfterMs) return undefined;
  const wantedSeconds = Math.ceil(retryAfterMs / 1_000);
  return `The provider asks to wait ${wantedSeconds} s, which is longer than the limit of ${maxRetryAfterMs / 1_000} s.`;
}

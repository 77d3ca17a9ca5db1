/**
 * The line about an attempt of a model call that failed: what went wrong, and what follows.
 */
import type { PublicEvent } from "../index.js";
import { duration, oneLine } from "./text.js";

type FailedAttempt = Extract<PublicEvent, { readonly type: "attempt_failed" }>;

export function failedAttempt({ failure, attempt, next, retryInMs = 0 }: FailedAttempt): string {
  const after = {
    retry: `Trying again in ${duration(retryInMs)}.`,
    fallback: "Going on with the next model.",
    compact: "The conversation is summed up to make room.",
    give_up: "No further attempt.",
  };
  return `Model call failed (${failure.kind}, attempt ${attempt}): ${oneLine(failure.message)} ${after[next]}`;
}

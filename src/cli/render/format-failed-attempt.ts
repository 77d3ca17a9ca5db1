/**
 * The line about a failed attempt of a model call or a tool call: what went wrong, and what happens next.
 */
import type { PublicEvent } from "../../index.js";
import { formatDuration, sanitize, toOneLine, truncate } from "../terminal/text.js";

type FailedAttempt = Extract<PublicEvent, { readonly type: "attempt_failed" }>;
type FailedToolAttempt = Extract<PublicEvent, { readonly type: "tool_failed" }>;

/** @param nextModel the model that takes over, if one does and it is known */
export function formatFailedAttempt(event: FailedAttempt | FailedToolAttempt, nextModel: string | null = null): string {
  return event.type === "tool_failed" ? formatFailedToolAttempt(event) : formatFailedModelCall(event, nextModel);
}

function formatFailedToolAttempt({ name, attempt, fault, retryInMs }: FailedToolAttempt): string {
  const subject = `${sanitize(name)} failed (attempt ${attempt})`;
  return `  ${subject}: ${endSentence(truncate(toOneLine(fault.message), 100))} Trying again in ${formatDuration(retryInMs)}.`;
}

function formatFailedModelCall(
  { failure, attempt, next, retryInMs = 0 }: FailedAttempt,
  nextModel: string | null,
): string {
  const nextSteps = {
    retry: `Trying again in ${formatDuration(retryInMs)}.`,
    fallback: `Continuing with ${sanitize(nextModel ?? "the next model")}.`,
    compact: "Summarizing the conversation to make room.",
    give_up: formatRetryAfter(failure.retryAfterMs),
  };
  return `Model call failed (${failure.kind}, attempt ${attempt}): ${endSentence(toOneLine(failure.message))} ${nextSteps[next]}`;
}

/** Pawl does not wait that long, but the person should know when to try again. */
function formatRetryAfter(retryAfterMs: number | undefined): string {
  const when = retryAfterMs === undefined ? "" : `The provider asks to wait ${formatDuration(retryAfterMs)}. `;
  return `${when}No further attempt.`;
}

/** Adds a period if the text has no final punctuation, which providers' messages often lack. */
function endSentence(text: string): string {
  return /[.!?…)]$/.test(text) ? text : `${text}.`;
}

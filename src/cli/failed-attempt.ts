/**
 * The line about a failed attempt of a model call or a tool call: what went wrong, and what happens next.
 */
import type { PublicEvent } from "../index.js";
import { cut, duration, oneLine, visible } from "./text.js";

type FailedAttempt = Extract<PublicEvent, { readonly type: "attempt_failed" }>;
type FailedTry = Extract<PublicEvent, { readonly type: "tool_failed" }>;

export function failedAttempt(event: FailedAttempt | FailedTry): string {
  return event.type === "tool_failed" ? failedTry(event) : failedModelCall(event);
}

function failedTry({ name, attempt, fault, retryInMs }: FailedTry): string {
  const what = `${visible(name)} failed (attempt ${attempt})`;
  return `  ${what}: ${sentence(cut(oneLine(fault.message), 100))} Trying again in ${duration(retryInMs)}.`;
}

function failedModelCall({ failure, attempt, next, retryInMs = 0 }: FailedAttempt): string {
  const after = {
    retry: `Trying again in ${duration(retryInMs)}.`,
    fallback: "Continuing with the next model.",
    compact: "Summarising the conversation to make room.",
    give_up: askedWait(failure.retryAfterMs),
  };
  return `Model call failed (${failure.kind}, attempt ${attempt}): ${sentence(oneLine(failure.message))} ${after[next]}`;
}

/** A wait of an hour is not waited for, but the person is to know when to come back. */
function askedWait(retryAfterMs: number | undefined): string {
  const when = retryAfterMs === undefined ? "" : `The provider asks to wait ${duration(retryAfterMs)}. `;
  return `${when}No further attempt.`;
}

/** A text with the mark that ends a sentence: a provider's message often has none. */
function sentence(text: string): string {
  return /[.!?…)]$/.test(text) ? text : `${text}.`;
}

/**
 * The attempts of a step's model call in the form of a trace.
 */
import { textOf, type Usage } from "../../core/data/message.js";
import { roundCost } from "../../core/data/usage.js";
import type { EventOf } from "../../core/machine/event.js";
import type { TracedAttempt } from "../../ports/trace.js";
import type { Redact } from "../observers/redact.js";
import type { ContentWriter } from "./traced-calls.js";

export function traceFinishedAttempt(
  event: EventOf<"model_finished">,
  redact: Redact,
  content: ContentWriter | null,
): TracedAttempt {
  const { attempt, model, timing, usage, finishReason, message, warnings } = event;
  const warned = warnings === undefined ? {} : { warnings: warnings.map(redact) };
  const text = content === null ? {} : { text: content.text(textOf(message)) };
  return { attempt, model, ...timing, ...pickResends(event), finishReason, ...warned, ...pickUsage(usage), ...text };
}

export function traceFailedAttempt(
  event: EventOf<"model_failed">,
  redact: Redact,
  content: ContentWriter | null,
): TracedAttempt {
  const { attempt, model, timing, usage, failure, next, partial } = event;
  const again = next.type === "retry" ? { retryInMs: next.inMs } : {};
  const shown = { ...failure, message: redact(failure.message) };
  const text = content === null || partial === undefined ? {} : { text: content.text(partial.text) };
  const tried = { attempt, model, ...timing, ...pickResends(event) };
  return { ...tried, failure: shown, next: next.type, ...again, ...pickUsage(usage), ...text };
}

function pickResends({ resends }: { readonly resends?: number }): { readonly resends?: number } {
  return resends === undefined ? {} : { resends };
}

export function pickUsage(usage: Usage | undefined): { readonly usage?: Usage } {
  return usage === undefined ? {} : { usage: roundCost(usage) };
}

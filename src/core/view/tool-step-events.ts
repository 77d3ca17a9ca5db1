/**
 * The public events of a tool's durable work: its steps, its questions to a person, its sleeps and waits.
 */
import { defined } from "../data/defined.js";
import type { EventOf } from "../machine/event.js";
import type { WaitKind } from "../machine/state.js";
import type { CallRecord } from "../transcript/results.js";
import type { CallFields, PublicEventBody } from "./public-event.js";
import { passedOver } from "./run-wait.js";
import { toToolQuestion } from "./tool-questions.js";

export function toolStepEvent(
  { step, outcome, value, fault, tries, timing }: EventOf<"tool_step_finished">,
  call: CallFields,
): PublicEventBody {
  const isShown = value !== undefined && JSON.stringify(value).length <= maxShownCharacters;
  return {
    type: "tool_step",
    step,
    outcome,
    durationMs: timing.durationMs,
    ...(tries === undefined ? {} : { tries }),
    ...(isShown ? { output: value } : {}),
    ...(fault === undefined ? {} : { fault }),
    ...call,
  };
}

const maxShownCharacters = 4_096;

export function questionAskedEvents(
  { step }: EventOf<"tool_asked">,
  call: CallFields,
  { input, steps }: CallRecord,
): readonly PublicEventBody[] {
  const asked = steps?.asked.findLast((one) => one.step === step);
  if (asked === undefined) return [];
  if (asked.for !== undefined) {
    const { for: on, expiresAt: until, key } = asked;
    return [{ type: "wait_started", step, on, ...defined({ until, key }), ...passedOver(step), ...call }];
  }
  const { askedAt: _, ...question } = toToolQuestion(asked);
  return [{ type: "approval_requested", input, ...question, ...call }];
}

/** An expired approval has a result, which reports the expiry. A tool's question has none, so it gets an event. */
export function questionExpiredEvents(
  { questionId }: EventOf<"timer_fired">,
  call: CallFields,
  record: CallRecord,
): readonly PublicEventBody[] {
  const wait = findWait(record, questionId);
  if (wait !== undefined) return [{ type: "wait_over", ...wait, by: "time", ...call }];
  return questionId === undefined ? [] : [{ type: "approval_answered", answer: "expired", questionId, ...call }];
}

/** The sleep or wait with this name; undefined for a question to a person. */
export function findWait(
  { steps }: CallRecord,
  step: string | undefined,
): { readonly step: string; readonly on: WaitKind } | undefined {
  const asked = steps?.asked.findLast((one) => one.step === step);
  return asked?.for === undefined ? undefined : { step: asked.step, on: asked.for };
}

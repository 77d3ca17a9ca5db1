/**
 * The hooks after an attempt of a model call: `afterLLMCall`, and `onError` where it failed.
 */
import type { AfterFailure, EventOf, HookRecord } from "../../core/machine/event.js";
import type { FailureSubject, ModelAnswerSubject } from "../../ports/hook.js";
import type { Cancellation } from "../lib/cancellation.js";
import { andThen } from "../lib/maybe-promise.js";
import type { EffectContext } from "../work/effect-context.js";
import { callHooks, type HookCall, type HookCallResult, refused } from "./call-hooks.js";
import { hookRecords, notification } from "./step-hooks.js";

type Finished = Omit<EventOf<"model_finished">, "at">;
type Failed = Omit<EventOf<"model_failed">, "at">;
export type SettledAttempt = Finished | Failed;

/** How long a hook's retry waits where nothing else says how long. */
const ownRetryMs = 1_000;

/** Calls the hooks; what an abort cut off is no failure, and none of their business. */
export function callAfterAttempt(
  event: SettledAttempt,
  work: EffectContext,
  cancellation: Cancellation,
): SettledAttempt | Promise<SettledAttempt> {
  const { afterLLMCall, onError } = work.parts.hooks;
  if (afterLLMCall.length + onError.length === 0) return event;
  if (event.type === "model_failed" && event.failure.kind === "cancelled") return event;
  return andThen(callHooks(notification("afterLLMCall", answerOf(event)), work, cancellation), (asked) => {
    const { records } = asked;
    if (asked.failure !== undefined) return failedBy(asked.failure, event, records);
    if (event.type === "model_finished" || onError.length === 0) return { ...event, ...hookRecords(records) };
    return andThen(callHooks(askingOnError(event), work, cancellation), (second) =>
      decided(event, second, [...records, ...second.records]),
    );
  });
}

function answerOf(event: SettledAttempt): ModelAnswerSubject {
  const { modelCallIndex, attempt, model, usage, timing } = event;
  return {
    modelCallIndex,
    attempt,
    model,
    durationMs: timing.durationMs,
    ...(usage === undefined ? {} : { usage }),
    ...(event.type === "model_finished"
      ? { message: event.message, finishReason: event.finishReason }
      : { failure: event.failure }),
  };
}

type Wanted = "retry" | "giveUp" | undefined;

function askingOnError({ modelCallIndex, attempt, model, failure, next }: Failed): HookCall<Wanted> {
  const subject: FailureSubject = { modelCallIndex, attempt, model, failure, next: next.type };
  return {
    point: "onError",
    first: undefined,
    show: () => subject,
    take: (answer) =>
      answer === "retry" || answer === "giveUp"
        ? { type: "settled", to: answer }
        : refused(answer, '"retry" or "giveUp"'),
  };
}

function decided(
  event: Failed,
  { to, failure }: HookCallResult<Wanted>,
  records: readonly HookRecord[],
): SettledAttempt {
  if (failure !== undefined) return failedBy(failure, event, records);
  return { ...event, next: nextOf(event.next, to), ...hookRecords(records) };
}

function nextOf(next: AfterFailure, wanted: Wanted): AfterFailure {
  if (wanted === "retry") return next.type === "retry" ? next : { type: "retry", inMs: ownRetryMs };
  if (wanted === "giveUp" && next.type !== "give_up") return { type: "give_up", reason: "model_error" };
  return next;
}

/** A step that a hook failed: its answer is not kept, what it used is. */
function failedBy(message: string, event: SettledAttempt, hooks: readonly HookRecord[]): Failed {
  const { runId, modelCallIndex, attempt, model, usage, timing } = event;
  return {
    type: "model_failed",
    runId,
    modelCallIndex,
    attempt,
    model,
    timing,
    failure: { kind: "provider", code: "hook_failed", message },
    next: { type: "give_up", reason: "hook_failed" },
    ...(usage === undefined ? {} : { usage: { ...usage, partial: true } }),
    hooks,
  };
}

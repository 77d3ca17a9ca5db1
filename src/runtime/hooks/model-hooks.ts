/**
 * The hooks after an attempt of a model call: `afterLLMCall`, and `onError` if the attempt failed.
 */
import { defined } from "../../core/data/defined.js";
import type { AfterFailure, EventOf, HookRecord } from "../../core/machine/event.js";
import type { FailureSubject, ModelAnswerSubject } from "../../ports/hook.js";
import type { Cancellation } from "../lib/cancellation.js";
import { type Coroutine, type MaybePromise, runCoroutine } from "../lib/coroutine.js";
import type { EffectContext } from "../work/effect-context.js";
import { callHooks, type HookCall, refuseAnswer } from "./call-hooks.js";
import { createNotification, pickHookRecords } from "./step-hooks.js";

type FinishedAttempt = Omit<EventOf<"model_finished">, "at">;
type Failed = Omit<EventOf<"model_failed">, "at">;
export type SettledAttempt = FinishedAttempt | Failed;

/** The delay of a retry that only a hook requested. */
const hookRetryMs = 1_000;

/** Calls the hooks, except for an attempt that was aborted, which is not a failure. */
export function callAfterAttempt(
  event: SettledAttempt,
  context: EffectContext,
  cancellation: Cancellation,
): MaybePromise<SettledAttempt> {
  const { afterLLMCall, onError } = context.agent.hooks;
  if (afterLLMCall.length + onError.length === 0) return event;
  if (event.type === "model_failed" && event.failure.kind === "cancelled") return event;
  return runCoroutine(runHooks(event, context, cancellation));
}

function* runHooks(
  event: SettledAttempt,
  context: EffectContext,
  cancellation: Cancellation,
): Coroutine<SettledAttempt> {
  const { onError } = context.agent.hooks;
  const afterCall = yield* callHooks(createNotification("afterLLMCall", toAnswerSubject(event)), context, cancellation);
  const known = event.hooks === undefined ? afterCall.records : [...event.hooks, ...afterCall.records];
  if (afterCall.failure !== undefined) return createHookFailure(afterCall.failure, event, known);
  if (event.type === "model_finished" || onError.length === 0) return { ...event, ...pickHookRecords(known) };
  const { value, failure, records } = yield* callHooks(createOnErrorCall(event), context, cancellation);
  const all = [...known, ...records];
  if (failure !== undefined) return createHookFailure(failure, event, all);
  return { ...event, next: applyVerdict(event.next, value), ...pickHookRecords(all) };
}

function toAnswerSubject(event: SettledAttempt): ModelAnswerSubject {
  const { modelCallIndex, attempt, model, usage, timing } = event;
  return {
    modelCallIndex,
    attempt,
    model,
    durationMs: timing.durationMs,
    ...defined({ usage }),
    ...(event.type === "model_finished"
      ? {
          message: event.message,
          finishReason: event.finishReason,
          ...defined({ providerMetadata: event.providerMetadata }),
        }
      : { failure: event.failure }),
  };
}

/** The verdict of an `onError` hook. */
type ErrorVerdict = "retry" | "giveUp" | undefined;

function createOnErrorCall({ modelCallIndex, attempt, model, failure, next }: Failed): HookCall<ErrorVerdict> {
  const subject: FailureSubject = { modelCallIndex, attempt, model, failure, next: next.type };
  return {
    point: "onError",
    initial: undefined,
    toSubject: () => subject,
    accept: (answer) =>
      answer === "retry" || answer === "giveUp"
        ? { type: "settled", to: answer }
        : refuseAnswer(answer, '"retry" or "giveUp"'),
  };
}

function applyVerdict(next: AfterFailure, verdict: ErrorVerdict): AfterFailure {
  if (verdict === "retry") return next.type === "retry" ? next : { type: "retry", inMs: hookRetryMs };
  if (verdict === "giveUp" && next.type !== "give_up") return { type: "give_up", reason: "model_error" };
  return next;
}

/** Fails the attempt because a hook failed: its answer is dropped, but its usage counts. */
function createHookFailure(message: string, event: SettledAttempt, hooks: readonly HookRecord[]): Failed {
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

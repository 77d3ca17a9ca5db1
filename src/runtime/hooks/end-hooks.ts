/**
 * The hooks at the end of a run: `beforeStop` before the end is decided, `afterStep` and `afterRun` after it.
 */

import type { UserMessage } from "../../core/data/message.js";
import type { EventBody, HookRecord } from "../../core/machine/event.js";
import { findReachedLimit } from "../../core/machine/reached-limits.js";
import type { Preparing } from "../../core/machine/state.js";
import { resultOf } from "../../core/view/outcome.js";
import type { StopSubject } from "../../ports/hook.js";
import type { CompiledAgent } from "../agent/compiled-agent.js";
import { toUserMessages } from "../agent/run-input.js";
import type { Cancellation } from "../lib/cancellation.js";
import type { Coroutine } from "../lib/coroutine.js";
import type { EffectContext } from "../work/effect-context.js";
import { callHooks, type HookCall, refuseAnswer } from "./call-hooks.js";
import { pickOnlyMember, readReason } from "./check-return.js";
import { callAfterStep, createNotification, pickHookRecords } from "./step-hooks.js";

type FinishingState = Extract<Preparing, { for: "finish" }>;

/** Whether the run ends. If not, `event` is committed instead. */
export type StopVerdict =
  | { readonly type: "ends"; readonly records: readonly HookRecord[] }
  | { readonly type: "instead"; readonly event: EventBody };

/** Calls the `afterStep` hooks for the last step, then the `beforeStop` hooks. */
export function* callBeforeStop(
  state: FinishingState,
  context: EffectContext,
  cancellation: Cancellation,
): Coroutine<StopVerdict> {
  const afterStep = yield* callAfterStep(context, cancellation);
  const earlier = afterStep?.records ?? [];
  if (afterStep?.failure !== undefined) return refuseForFailure(afterStep.failure, state, context, earlier);
  if (context.agent.hooks.beforeStop.length === 0) return { type: "ends", records: earlier };
  const beforeStop = yield* callHooks(createBeforeStopCall(state, context), context, cancellation);
  const records = [...earlier, ...beforeStop.records];
  if (beforeStop.failure !== undefined) return refuseForFailure(beforeStop.failure, state, context, records);
  const verdict = beforeStop.value;
  switch (verdict.type) {
    case "ends":
      return { type: "ends", records };
    case "goes_on": {
      const { input } = verdict;
      return { type: "instead", event: { type: "steered", source: "before_stop", input, ...pickHookRecords(records) } };
    }
    case "refused":
      return { type: "instead", event: createRefusalEnd("output_refused", verdict.why, state, context, records) };
  }
}

/** Hooks can keep a run going a limited number of times, and never past a limit. They can always refuse its answer. */
function canGoOn(state: FinishingState, { now }: EffectContext): boolean {
  const { counters, limits } = state;
  return counters.stopPreventions < limits.maxStopPreventions && findReachedLimit(state, now()) === undefined;
}

function createRefusalEnd(
  code: "output_refused" | "hook_failed",
  message: string,
  { runId, seq }: FinishingState,
  { transcript }: EffectContext,
  records: readonly HookRecord[],
): EventBody {
  const reason = "output_refused";
  const fault = { code, message, retryable: false };
  const refusedSeq = transcript.run?.answerSeq ?? seq;
  return { type: "run_finished", runId, reason, fault, refusedSeq, ...pickHookRecords(records) };
}

/** The combined result of the `beforeStop` hooks. */
type BeforeStopResult =
  | { readonly type: "ends" }
  | { readonly type: "goes_on"; readonly input: readonly UserMessage[] }
  | { readonly type: "refused"; readonly why: string };

function createBeforeStopCall(state: FinishingState, context: EffectContext): HookCall<BeforeStopResult> {
  const { reason, counters } = state;
  const { transcript } = context;
  const canContinue = canGoOn(state, context);
  const text = (reason === "done" ? transcript.run?.doneMessage : undefined) ?? transcript.run?.answer ?? "";
  const subject: StopSubject = { reason, text, stopPreventions: counters.stopPreventions, mayGoOn: canContinue };
  return {
    point: "beforeStop",
    initial: { type: "ends" },
    toSubject: () => subject,
    accept(answer) {
      const member = pickOnlyMember(answer, ["message", "refuse"]);
      if (member?.key === "message") {
        const input = toUserMessages(member.value as Parameters<typeof toUserMessages>[0]);
        return canContinue ? { type: "settled", to: { type: "goes_on", input } } : { type: "ignored" };
      }
      const why = readReason(member?.value);
      if (why === undefined) return refuseAnswer(answer, "{ message } or { refuse: reason }");
      return { type: "settled", to: { type: "refused", why } };
    },
  };
}

/** Refuses the answer because a hook with `onFailure: "closed"` failed, so the answer is unchecked. */
function refuseForFailure(
  message: string,
  state: FinishingState,
  context: EffectContext,
  records: readonly HookRecord[],
): StopVerdict {
  return { type: "instead", event: createRefusalEnd("hook_failed", message, state, context, records) };
}

/** Whether any hook is called after a run has ended. */
export function hasEndHooks({ hooks }: Pick<CompiledAgent, "hooks">): boolean {
  return hooks.afterStep.length + hooks.afterRun.length > 0;
}

/** Calls the hooks of a run that has ended: `afterStep` for its last step, unless already called, and `afterRun`. */
export function* callAfterRun(context: EffectContext, cancellation: Cancellation): Coroutine<readonly HookRecord[]> {
  const afterStep = yield* callAfterStep(context, cancellation);
  const earlier = afterStep?.records ?? [];
  const result = resultOf(context.sessionId, context.state, context.transcript);
  if (result === null || context.agent.hooks.afterRun.length === 0) return earlier;
  // A copy: the subject of a hook is frozen, and the result belongs to the caller of the run.
  const call = createNotification("afterRun", structuredClone(result));
  const { records } = yield* callHooks(call, context, cancellation);
  return [...earlier, ...records];
}

/**
 * The hooks at the end of a run: `beforeStop` before it is settled, `afterStep` and `afterRun` after it.
 */

import type { UserMessage } from "../../core/data/message.js";
import type { EventBody, HookRecord } from "../../core/machine/event.js";
import type { Preparing } from "../../core/machine/state.js";
import { reachedLimit } from "../../core/machine/steps.js";
import { resultOf } from "../../core/view/outcome.js";
import type { StopSubject } from "../../ports/hook.js";
import type { CompiledAgent } from "../agent/compiled-agent.js";
import { messagesOf } from "../agent/run-input.js";
import type { Cancellation } from "../lib/cancellation.js";
import type { Coroutine } from "../lib/coroutine.js";
import type { EffectContext } from "../work/effect-context.js";
import { callHooks, type HookCall, refused } from "./call-hooks.js";
import { onlyMember, reasonIn } from "./check-return.js";
import { callAfterStep, hookRecords, notification } from "./step-hooks.js";

type Finishing = Extract<Preparing, { for: "finish" }>;

/** Whether the run ends. If not, `event` happens instead. */
export type StopVerdict =
  | { readonly type: "ends"; readonly records: readonly HookRecord[] }
  | { readonly type: "instead"; readonly event: EventBody };

/** Tells the hooks of the last step, then asks them whether the run may stop. */
export function* callBeforeStop(
  state: Finishing,
  context: EffectContext,
  cancellation: Cancellation,
): Coroutine<StopVerdict> {
  const afterStep = yield* callAfterStep(context, cancellation);
  const earlier = afterStep?.records ?? [];
  if (afterStep?.failure !== undefined) return withheldBy(afterStep.failure, state, context, earlier);
  if (context.parts.hooks.beforeStop.length === 0) return { type: "ends", records: earlier };
  const beforeStop = yield* callHooks(beforeStopCall(state, context), context, cancellation);
  const records = [...earlier, ...beforeStop.records];
  if (beforeStop.failure !== undefined) return withheldBy(beforeStop.failure, state, context, records);
  const verdict = beforeStop.value;
  switch (verdict.type) {
    case "ends":
      return { type: "ends", records };
    case "goes_on": {
      const { input } = verdict;
      return { type: "instead", event: { type: "steered", source: "before_stop", input, ...hookRecords(records) } };
    }
    case "refused":
      return { type: "instead", event: refusalOf("output_refused", verdict.why, state, context, records) };
  }
}

/** Hooks can keep a run going only so often, and never past a limit. They can refuse its answer at any time. */
function mayGoOn(state: Finishing, { now }: EffectContext): boolean {
  const { counters, limits } = state;
  return counters.stopPreventions < limits.maxStopPreventions && reachedLimit(state, now()) === undefined;
}

function refusalOf(
  code: "output_refused" | "hook_failed",
  message: string,
  { runId, seq }: Finishing,
  { transcript }: EffectContext,
  records: readonly HookRecord[],
): EventBody {
  const reason = "output_refused";
  const fault = { code, message, retryable: false };
  const refusedSeq = transcript.run?.answerSeq ?? seq;
  return { type: "run_finished", runId, reason, fault, refusedSeq, ...hookRecords(records) };
}

/** What the hooks make of the end of a run. */
type Answered =
  | { readonly type: "ends" }
  | { readonly type: "goes_on"; readonly input: readonly UserMessage[] }
  | { readonly type: "refused"; readonly why: string };

function beforeStopCall(state: Finishing, context: EffectContext): HookCall<Answered> {
  const { reason, counters } = state;
  const { transcript } = context;
  const goesOn = mayGoOn(state, context);
  const text = (reason === "done" ? transcript.run?.doneMessage : undefined) ?? transcript.run?.answer ?? "";
  const subject: StopSubject = { reason, text, stopPreventions: counters.stopPreventions, mayGoOn: goesOn };
  return {
    point: "beforeStop",
    initial: { type: "ends" },
    subjectOf: () => subject,
    accept(answer) {
      const member = onlyMember(answer, ["message", "refuse"]);
      if (member?.key === "message") {
        const input = messagesOf(member.value as Parameters<typeof messagesOf>[0]);
        return goesOn ? { type: "settled", to: { type: "goes_on", input } } : { type: "ignored" };
      }
      const why = reasonIn(member?.value);
      if (why === undefined) return refused(answer, "{ message } or { refuse: reason }");
      return { type: "settled", to: { type: "refused", why } };
    },
  };
}

/** A hook with `onFailure: "closed"` failed. Nothing has judged the answer, so it is refused. */
function withheldBy(
  message: string,
  state: Finishing,
  context: EffectContext,
  records: readonly HookRecord[],
): StopVerdict {
  return { type: "instead", event: refusalOf("hook_failed", message, state, context, records) };
}

/** Whether any hook is called after a run has ended. */
export function hasEndHooks({ hooks }: Pick<CompiledAgent, "hooks">): boolean {
  return hooks.afterStep.length + hooks.afterRun.length > 0;
}

/** Tells the hooks of a run that has ended: of its last step, unless they know of it, and of its result. */
export function* callAfterRun(context: EffectContext, cancellation: Cancellation): Coroutine<readonly HookRecord[]> {
  const afterStep = yield* callAfterStep(context, cancellation);
  const earlier = afterStep?.records ?? [];
  const result = resultOf(context.sessionId, context.state, context.transcript);
  if (result === null || context.parts.hooks.afterRun.length === 0) return earlier;
  // A copy: the subject of a hook is frozen, and the result belongs to the code that asked for the run.
  const call = notification("afterRun", structuredClone(result));
  const { records } = yield* callHooks(call, context, cancellation);
  return [...earlier, ...records];
}

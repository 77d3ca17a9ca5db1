/**
 * The hooks at the end of a run: `beforeStop`, and what comes after it.
 */

import type { UserMessage } from "../../core/data/message.js";
import type { EventBody, HookRecord } from "../../core/machine/event.js";
import type { Preparing } from "../../core/machine/state.js";
import { reachedLimit } from "../../core/machine/steps.js";
import { type RunResult, resultOf } from "../../core/view/outcome.js";
import type { StopSubject } from "../../ports/hook.js";
import type { CompiledAgent } from "../agent/compiled-agent.js";
import { messagesOf } from "../agent/run-input.js";
import type { Cancellation } from "../lib/cancellation.js";
import { andThen } from "../lib/maybe-promise.js";
import type { EffectContext } from "../work/effect-context.js";
import { callHooks, type HookCall, type HookCallResult, refused } from "./call-hooks.js";
import { oneOf } from "./check-return.js";
import { callAfterStep, hookRecords, notification } from "./step-hooks.js";

type Finishing = Extract<Preparing, { for: "finish" }>;

/** What hooks make of an end that is not settled yet; the records alone where it stays. */
export type StopVerdict =
  | { readonly type: "stays"; readonly records: readonly HookRecord[] }
  | { readonly type: "instead"; readonly event: EventBody };

/** Tells of the last step, then asks whether the run may stop. */
export function callBeforeStop(
  state: Finishing,
  work: EffectContext,
  cancellation: Cancellation,
): StopVerdict | Promise<StopVerdict> {
  return andThen(callAfterStep(work, cancellation), (told) => {
    if (told?.failure !== undefined) return failedBy(told.failure, state, told.records);
    const before = told?.records ?? [];
    if (!isAsked(state, work)) return { type: "stays", records: before };
    return andThen(callHooks(askingToStop(state, work), work, cancellation), (asked) =>
      answered(asked, state, [...before, ...asked.records]),
    );
  });
}

/** Nobody is asked who could not keep the run going: never past a limit, and only so often. */
function isAsked(state: Finishing, { parts, now }: EffectContext): boolean {
  const { counters, limits } = state;
  if (parts.hooks.beforeStop.length === 0 || counters.stopPreventions >= limits.maxStopPreventions) return false;
  return reachedLimit(state, now()) === undefined;
}

function askingToStop(
  { reason, counters }: Finishing,
  { transcript }: EffectContext,
): HookCall<readonly UserMessage[] | null> {
  const text = (reason === "done" ? transcript.run?.doneMessage : undefined) ?? transcript.run?.answer ?? "";
  const subject: StopSubject = { reason, text, stopPreventions: counters.stopPreventions };
  return {
    point: "beforeStop",
    first: null,
    show: () => subject,
    take(answer) {
      const given = oneOf(answer, ["message"]);
      if (given === undefined) return refused(answer, "{ message }");
      return { type: "settled", to: messagesOf(given.value as Parameters<typeof messagesOf>[0]) };
    },
  };
}

function answered(
  { to, failure }: HookCallResult<readonly UserMessage[] | null>,
  state: Finishing,
  records: readonly HookRecord[],
): StopVerdict {
  if (failure !== undefined) return failedBy(failure, state, records);
  if (to === null) return { type: "stays", records };
  return { type: "instead", event: { type: "steered", source: "before_stop", input: to, ...hookRecords(records) } };
}

function failedBy(message: string, { runId }: Finishing, records: readonly HookRecord[]): StopVerdict {
  const fault = { code: "hook_failed", message, retryable: false };
  return {
    type: "instead",
    event: { type: "run_finished", runId, reason: "hook_failed", fault, ...hookRecords(records) },
  };
}

/** Hooks are called after a run. */
export function hasEndHooks({ hooks }: Pick<CompiledAgent, "hooks">): boolean {
  return hooks.afterStep.length + hooks.afterRun.length > 0;
}

/** Tells the hooks of a run that has ended: of its last step, where they do not know of it, and of its result. */
export function callAfterRun(
  work: EffectContext,
  cancellation: Cancellation,
): readonly HookRecord[] | Promise<readonly HookRecord[]> {
  return andThen(callAfterStep(work, cancellation), (told) => {
    const before = told?.records ?? [];
    const result = resultOf(work.sessionId, work.state, work.transcript);
    if (result === null || work.parts.hooks.afterRun.length === 0) return before;
    return andThen(callHooks(notification("afterRun", copyOf(result)), work, cancellation), ({ records }) => [
      ...before,
      ...records,
    ]);
  });
}

/** A hook's subject is frozen; a result belongs to whoever asked for the run. */
function copyOf(result: RunResult): RunResult {
  return structuredClone(result);
}

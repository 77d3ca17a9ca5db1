/**
 * Evaluates the stop conditions of a run after a step.
 *
 * 1. The conditions are evaluated once per step: not again after a compaction or a failed attempt of the next model call,
 *    because the log already says that the run continues.
 * 2. A condition that fails counts as false. It is recorded like a failed hook.
 */

import { deepFreeze } from "../../core/data/freeze.js";
import { roundCost } from "../../core/data/usage.js";
import type { EventBody, HookRecord } from "../../core/machine/event.js";
import type { Preparing } from "../../core/machine/state.js";
import { withTimeLimit } from "../../platform/run-bounded.js";
import type { PlainStopCondition, StepView } from "../../ports/stop-condition.js";
import { defaultHookTimeoutMs } from "../agent/compile-hooks.js";
import { findLocals } from "../agent/local-run-options.js";
import { type CompiledCondition, type CompiledConditions, compileRecorded } from "../agent/stop-conditions.js";
import { checkAnswer, findOwnSchema } from "../agent/structured-output.js";
import type { Cancellation } from "../lib/cancellation.js";
import { type Coroutine, wait } from "../lib/coroutine.js";
import { formatError } from "../lib/error-text.js";
import { callInTime } from "../lib/time-limit.js";
import type { EffectContext } from "../work/effect-context.js";
import { createStepResult, pickHookRecords } from "./step-hooks.js";

type StepPreparing = Extract<Preparing, { for: "step" }>;

/** Whether there are conditions to evaluate before this step. */
export function canStop(state: StepPreparing, { agent, transcript }: EffectContext): boolean {
  if (agent.stopWhen === null && transcript.run?.options.stopWhen === undefined) return false;
  if (state.counters.totalSteps === 0 || state.purpose === "summary") return false;
  return state.attempt === 0 && state.compactionsInRow === 0;
}

export type StopAnswer = {
  /** The end of the run, if a condition holds. */
  readonly end?: EventBody;
  /** The conditions that failed. */
  readonly records: readonly HookRecord[];
};

export function* evaluateStopConditions(
  state: StepPreparing,
  context: EffectContext,
  cancellation: Cancellation,
): Coroutine<StopAnswer> {
  const { conditions, missing } = collectConditions(context);
  const records: HookRecord[] = [];
  if (missing.length > 0 && !context.runMemory.hasReportedConditions) {
    context.runMemory.hasReportedConditions = true;
    for (const name of missing) records.push(createRecord(name, 0, "refused", missingText));
  }
  const view = createStepView(state, context);
  for (const condition of conditions)
    if (yield* evaluateCondition(condition, view, records, context, cancellation)) {
      const end = yield* createEnd(state, condition.name, context);
      return { end: { ...end, ...pickHookRecords(records) }, records };
    }
  return { records };
}

const missingText =
  "This process does not have the function that the run was started with. The conditions of the agent are used instead. Pass stopWhen to resume() to restore it.";

/** The conditions of the run, or else of the agent. `missing`: functions of the run that this process does not have. */
function collectConditions({ sessionId, agent, transcript }: EffectContext): {
  readonly conditions: CompiledConditions;
  readonly missing: readonly string[];
} {
  const { run } = transcript;
  const recorded = run?.options.stopWhen;
  const agentConditions = agent.stopWhen ?? [];
  const isPlain = ({ type }: CompiledCondition) => type === "plain";
  if (run === null || recorded === undefined)
    return { conditions: agent.isReplay === true ? agentConditions.filter(isPlain) : agentConditions, missing: none };
  const plain = compileRecorded(recorded);
  if (agent.isReplay === true || plain.length === recorded.length) return { conditions: plain, missing: none };
  const local = findLocals(agent.locals, sessionId, run.runId)?.stopWhen;
  if (local !== undefined) return { conditions: local, missing: none };
  const missing = recorded.flatMap((one) => ("function" in one ? [one.function] : []));
  return { conditions: [...plain, ...agentConditions], missing };
}

const none: readonly never[] = [];

/** The argument of functions that are called between two steps. */
export function createStepView(state: StepPreparing, context: EffectContext): StepView {
  const { transcript, sessionId } = context;
  const { text, calls } = createStepResult(context);
  return Object.freeze({
    sessionId,
    runId: state.runId,
    steps: state.counters.totalSteps,
    text,
    calls: deepFreeze(calls),
    usage: deepFreeze(roundCost(state.usage)),
    data: transcript.data,
    get messages() {
      return Object.freeze(transcript.messages.slice());
    },
  });
}

function* evaluateCondition(
  condition: CompiledCondition,
  view: StepView,
  records: HookRecord[],
  context: EffectContext,
  cancellation: Cancellation,
): Coroutine<boolean> {
  const { clock } = context.agent;
  const startedAt = clock.elapsed();
  const recordFailure = (outcome: "threw" | "timed_out" | "refused", message: string): false => {
    const ms = Math.max(0, Math.round((clock.elapsed() - startedAt) * 1_000) / 1_000);
    records.push(createRecord(condition.name, ms, outcome, message));
    return false;
  };
  if (condition.type === "plain") {
    try {
      return matchesPlain(condition.plain, condition.pattern, view);
    } catch (error) {
      return recordFailure("timed_out", `It counts as false: ${formatError(error, 500)}`);
    }
  }
  const limit = { timeoutMs: defaultHookTimeoutMs, clock, cancellation };
  const called = yield* wait(callInTime(() => condition.call(view), limit));
  if (called.type !== "returned") return recordFailure(called.type, called.message);
  if (typeof called.value === "boolean") return called.value;
  return recordFailure("refused", "It returned neither true nor false, and counts as false.");
}

/** @throws Error if the match takes too long */
function matchesPlain(condition: PlainStopCondition, pattern: RegExp | undefined, view: StepView): boolean {
  if ("steps" in condition) return view.steps >= condition.steps;
  if ("text" in condition) return pattern !== undefined && withTimeLimit(() => pattern.test(view.text));
  const { tool, outcome } = condition;
  return view.calls.some((call) => call.name === tool && (outcome === undefined || call.outcome === outcome));
}

function createRecord(
  condition: string,
  ms: number,
  outcome: "threw" | "timed_out" | "refused",
  message: string,
): HookRecord {
  return { name: `stopWhen ${condition}`, hook: "beforeStep", ms, outcome, message };
}

/** A run with an output schema completes only with an answer that matches it. */
function* createEnd(
  { runId, modelCallIndex }: StepPreparing,
  condition: string,
  { sessionId, transcript, agent }: EffectContext,
): Coroutine<EventBody> {
  const end = { type: "run_finished", runId, modelCallIndex, condition } as const;
  const schema = transcript.run?.options.output;
  if (schema === undefined) return { ...end, reason: "stop_condition" };
  const answer = transcript.run?.answer ?? "";
  const checked = yield* wait(checkAnswer(answer, schema, findOwnSchema(sessionId, runId, schema, agent), agent.clock));
  if (checked.ok) return { ...end, reason: "stop_condition", output: checked.value };
  const message = `The stop condition ${condition} held, and the text so far cannot be used: ${checked.message}`;
  return { ...end, reason: "invalid_output", fault: { code: "invalid_output", message, retryable: false } };
}

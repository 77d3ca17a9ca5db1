/**
 * Before a model call: what the model will see.
 */
import type { EventBody, HookRecord } from "../../core/machine/event.js";
import { hasStepHooks, hookRecords, type Preparation, prepareWithHooks } from "../hooks/step-hooks.js";
import { askStopConditions, mayStop } from "../hooks/stop-when.js";
import type { Cancellation } from "../lib/cancellation.js";
import { type Coroutine, type MaybePromise, runCoroutine, wait } from "../lib/coroutine.js";
import { buildContext } from "../work/build-context.js";
import { isCompactionDue } from "../work/context-size.js";
import type { EffectContext } from "../work/effect-context.js";
import { type Prompt, promptHashes } from "../work/prompt-blobs.js";

export function prepare(context: EffectContext, cancellation: Cancellation): MaybePromise<EventBody | undefined> {
  const { state } = context;
  if (state.status !== "preparing" || state.for !== "step") return undefined;
  if (mayStop(state, context)) return runCoroutine(prepareUnlessStopped(state, context, cancellation));
  return prepareStep(state, context, cancellation, noRecords);
}

const noRecords: readonly HookRecord[] = [];

function* prepareUnlessStopped(
  state: StepPreparing,
  context: EffectContext,
  cancellation: Cancellation,
): Coroutine<EventBody> {
  const { end, records } = yield* askStopConditions(state, context, cancellation);
  return end ?? (yield* wait(prepareStep(state, context, cancellation, records)));
}

/** @param earlier what is recorded with the event: stop conditions that failed */
function prepareStep(
  state: StepPreparing,
  context: EffectContext,
  cancellation: Cancellation,
  earlier: readonly HookRecord[],
): MaybePromise<EventBody> {
  const { runId, modelCallIndex } = state;
  if (isCompactionDue(state, context))
    return { type: "compaction_started", runId, modelCallIndex, ...hookRecords(earlier) };
  const built = buildContext(state, context);
  if (built.type === "failed") {
    const message = `the context manager failed: ${built.message}`;
    const fault = { code: "hook_failed", message, retryable: false };
    return { type: "run_finished", runId, modelCallIndex, reason: "hook_failed", fault, ...hookRecords(earlier) };
  }
  const { systemPrompt, specifications } = built;
  const records = earlier.length === 0 ? built.records : [...earlier, ...built.records];
  // A provider that paused has not finished its turn: nothing may come between its messages.
  const append = state.purpose === "unpause" ? [] : built.append;
  const initial: Preparation = { records, systemPrompt, append, choices: {} };
  if (!hasStepHooks(context)) return prepared(state, initial, specifications, context);
  return runCoroutine(preparedWithHooks(state, initial, specifications, context, cancellation));
}

type StepPreparing = Extract<EffectContext["state"], { for: "step" }>;

function* preparedWithHooks(
  state: StepPreparing,
  initial: Preparation,
  specifications: Prompt["specifications"],
  context: EffectContext,
  cancellation: Cancellation,
): Coroutine<EventBody> {
  const preparation = yield* prepareWithHooks(state, initial, context, cancellation);
  return preparation.end ?? prepared(state, preparation, specifications, context);
}

function prepared(
  { runId, modelCallIndex, seq, purpose }: StepPreparing,
  { records, input, systemPrompt, append, choices }: Preparation,
  specifications: Prompt["specifications"],
  { memory, parts, transcript }: EffectContext,
): EventBody {
  const resultBytes = parts.services.output?.maxTotalBytes;
  return {
    type: "prepared",
    runId,
    modelCallIndex,
    contextSeq: seq,
    purpose,
    ...(input === undefined ? {} : { input }),
    ...(append.length === 0 ? {} : { append }),
    ...choices,
    ...promptHashes(memory.texts, { systemPrompt, specifications }, transcript),
    ...(resultBytes === undefined ? {} : { resultBytes }),
    ...hookRecords(records),
  };
}

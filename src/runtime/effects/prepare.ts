/**
 * Before a model call: what the model will see.
 */
import type { EventBody } from "../../core/machine/event.js";
import { hasStepHooks, hookRecords, type Preparation, prepareWithHooks } from "../hooks/step-hooks.js";
import type { Cancellation } from "../lib/cancellation.js";
import { type Coroutine, type MaybePromise, runCoroutine, wait } from "../lib/coroutine.js";
import { buildContext, runDataOf } from "../work/build-context.js";
import { isCompactionDue } from "../work/context-size.js";
import type { EffectContext } from "../work/effect-context.js";
import { findSources, type LoadedSources, namedSources } from "../work/loaded-sources.js";
import { type Prompt, promptHashes } from "../work/prompt-blobs.js";

export function prepare(context: EffectContext, cancellation: Cancellation): MaybePromise<EventBody | undefined> {
  const { state } = context;
  if (state.status !== "preparing" || state.for !== "step") return undefined;
  const { runId, modelCallIndex } = state;
  if (isCompactionDue(state, context)) return { type: "compaction_started", runId, modelCallIndex };
  if (context.parts.context.sources.length === 0) return prepareStep(state, null, context, cancellation);
  return runCoroutine(prepareWithSources(state, context, cancellation));
}

function* prepareWithSources(
  state: StepPreparing,
  context: EffectContext,
  cancellation: Cancellation,
): Coroutine<EventBody> {
  const found = yield* findSources(runDataOf(state, context), context, cancellation);
  if (found.type === "failed") return failed(state, found.message);
  return yield* wait(prepareStep(state, found.sources, context, cancellation));
}

function failed({ runId, modelCallIndex }: StepPreparing, message: string): EventBody {
  const fault = { code: "hook_failed", message, retryable: false };
  return { type: "run_finished", runId, modelCallIndex, reason: "hook_failed", fault };
}

function prepareStep(
  state: StepPreparing,
  sources: LoadedSources | null,
  context: EffectContext,
  cancellation: Cancellation,
): MaybePromise<EventBody> {
  const built = buildContext(state, context, sources);
  if (built.type === "failed") return failed(state, `the context manager failed: ${built.message}`);
  const { systemPrompt, records, specifications } = built;
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
  context: EffectContext,
): EventBody {
  const { memory, parts, transcript } = context;
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
    ...(memory.sources === null ? {} : namedSources(context, transcript)),
    ...hookRecords(records),
  };
}

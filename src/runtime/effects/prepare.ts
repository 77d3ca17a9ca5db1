/**
 * Before a model call: what it will see.
 */
import type { EventBody } from "../../core/machine/event.js";
import { hasStepHooks, hookRecords, type Preparation, prepareWithHooks } from "../hooks/step-hooks.js";
import { andThen } from "../lib/maybe-promise.js";
import { buildContext } from "../work/build-context.js";
import { isCompactionDue } from "../work/context-size.js";
import type { EffectContext, EffectOf, Perform } from "../work/effect-context.js";
import { type Prompt, promptHashes } from "../work/prompt-blobs.js";

export const prepare: Perform<EffectOf<"prepare">> = (_effect, work, cancellation) => {
  const { state } = work;
  if (state.status !== "preparing" || state.for !== "step") return undefined;
  const { runId, modelCallIndex } = state;
  if (isCompactionDue(state, work)) return { type: "compaction_started", runId, modelCallIndex };
  const context = buildContext(state, work);
  if (context.type === "failed") {
    const message = `the context manager failed: ${context.message}`;
    const fault = { code: "hook_failed", message, retryable: false };
    return { type: "run_finished", runId, modelCallIndex, reason: "hook_failed", fault };
  }
  const { systemPrompt, append, records } = context;
  const first: Preparation = { records, systemPrompt, append, choices: {} };
  if (!hasStepHooks(work)) return prepared(state, first, context.specifications, work);
  return andThen(
    prepareWithHooks(state, first, work, cancellation),
    (preparation) => preparation.end ?? prepared(state, preparation, context.specifications, work),
  );
};

function prepared(
  { runId, modelCallIndex, seq, purpose }: Extract<EffectContext["state"], { for: "step" }>,
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

/**
 * Before a model call: what it will see.
 */
import type { EventBody } from "../../core/event.js";
import { isCompactionDue } from "../context-size.js";
import { hasStepHooks, type Preparation, prepareWithHooks, riding } from "../hooks/around-step.js";
import { andThen } from "../thenable.js";
import type { EffectOf, Perform, Work } from "../work.js";
import { presentTexts } from "./model-request.js";

export const prepare: Perform<EffectOf<"prepare">> = (_effect, work, cancellation) => {
  const { state, parts, transcript } = work;
  if (state.status !== "preparing" || state.for !== "step") return undefined;
  const { runId, modelCallIndex } = state;
  if (isCompactionDue(state, work)) return { type: "compaction_started", runId, modelCallIndex };
  const { systemPrompt } = presentTexts(parts, transcript);
  if (!hasStepHooks(work)) return prepared(state, { records: [], systemPrompt, choices: {} }, work);
  return andThen(
    prepareWithHooks(state, systemPrompt, work, cancellation),
    (preparation) => preparation.end ?? prepared(state, preparation, work),
  );
};

function prepared(
  { runId, modelCallIndex, seq, purpose }: Extract<Work["state"], { for: "step" }>,
  { records, input, systemPrompt, choices }: Preparation,
  { memory, parts, transcript }: Work,
): EventBody {
  const resultBytes = parts.services.output?.maxTotalBytes;
  return {
    type: "prepared",
    runId,
    modelCallIndex,
    upTo: seq,
    purpose,
    ...(input === undefined ? {} : { input }),
    ...choices,
    ...memory.texts.name({ systemPrompt, specifications: parts.specifications }, transcript),
    ...(resultBytes === undefined ? {} : { resultBytes }),
    ...riding(records),
  };
}

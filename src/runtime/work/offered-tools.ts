/**
 * Which of an agent's tools a model is offered.
 */
import { trimmedMessages } from "../../core/transcript/trim.js";
import type { ToolSpecification } from "../../ports/model.js";
import type { EffectContext } from "./effect-context.js";

/**
 * The tools that read the rest of an output are offered once the model sees that one was cut or left out: small models
 * call them otherwise, and waste their steps. The list changes once, at the end, and no cache of a provider outlasts it;
 * so it costs one request without a cache, in sessions that need the tools. Each of the two lists stays the same array.
 */
export function offeredSpecifications({
  parts: { specifications, specificationsAtFirst },
  transcript,
}: Pick<EffectContext, "parts" | "transcript">): readonly ToolSpecification[] {
  const seesKept = transcript.shownResults.keptSeq > 0 || trimmedMessages(transcript) !== transcript.messages;
  return seesKept ? specifications : specificationsAtFirst;
}

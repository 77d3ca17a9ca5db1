/**
 * Selects the tools that a model is offered.
 */
import { trimMessages } from "../../core/transcript/trim-results.js";
import type { ToolSpecification } from "../../ports/model.js";
import { chooseModel } from "../model/models.js";
import type { EffectContext } from "./effect-context.js";

/**
 * The tools that read the rest of an output are offered only once the model sees that an output was truncated or omitted. Small models
 * would call them earlier and waste steps. A model with a prompt cache is offered them from the start: tools come first in a request, so a
 * change of the list would invalidate the cache of the whole conversation. Each of the two lists stays the same array.
 */
export function listOfferedTools(
  context: Pick<EffectContext, "agent" | "transcript" | "state">,
): readonly ToolSpecification[] {
  const { agent, transcript } = context;
  const { model } = chooseModel(context);
  const takesAll = agent.hasDeferredTools && model.takesDeferredTools === true;
  const { specifications, specificationsAtFirst } = takesAll ? agent.withDeferred : agent;
  if (specifications === specificationsAtFirst || model.cachesPrompts === true) return specifications;
  const seesTruncated = transcript.shownResults.keptSeq > 0 || trimMessages(transcript) !== transcript.messages;
  return seesTruncated ? specifications : specificationsAtFirst;
}

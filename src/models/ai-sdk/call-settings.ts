/**
 * The settings of a model call in the form of the AI SDK's specifications.
 */
import type { ModelSettings } from "../../core/data/model-settings.js";
import type { CallOptions, SpecificationVersion } from "./call-options.js";

type SentSettings = Pick<CallOptions, Exclude<keyof ModelSettings, "parallelToolCalls">>;

/** Specification v3 has no `reasoning`: see `toProviderSettings`. */
export function toCallSettings(request: ModelSettings, version: SpecificationVersion): SentSettings {
  const { temperature, topP, topK, maxOutputTokens, stopSequences, seed, presencePenalty, frequencyPenalty } = request;
  const { reasoning } = request;
  return {
    ...(temperature !== undefined && { temperature }),
    ...(topP !== undefined && { topP }),
    ...(topK !== undefined && { topK }),
    ...(maxOutputTokens !== undefined && { maxOutputTokens }),
    ...(stopSequences !== undefined && { stopSequences: [...stopSequences] }),
    ...(seed !== undefined && { seed }),
    ...(presencePenalty !== undefined && { presencePenalty }),
    ...(frequencyPenalty !== undefined && { frequencyPenalty }),
    ...(reasoning !== undefined && version === "v4" && { reasoning }),
  };
}

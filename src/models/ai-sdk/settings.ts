/**
 * Settings of a model call as the AI SDK's specifications have them.
 */
import type { ModelSettings } from "../../core/data/model-settings.js";
import type { CallOptions, SpecificationVersion } from "./call-options.js";

type Sent = Pick<CallOptions, keyof ModelSettings>;

/** The settings of a request. Specification v3 has no `reasoning`: see `unsentSettings`. */
export function settingsOf(request: ModelSettings, version: SpecificationVersion): Sent {
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

/** A warning for each setting that the specification does not have. What a provider lacks, it says itself. */
export function unsentSettings({ reasoning }: ModelSettings, version: SpecificationVersion): readonly string[] {
  if (reasoning === undefined || reasoning === "provider-default" || version === "v4") return none;
  return [`reasoning: specification ${version} of the AI SDK has no such setting; use providerOptions`];
}

const none: readonly string[] = [];

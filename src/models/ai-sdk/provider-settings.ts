/**
 * Settings that the AI SDK's specifications lack, in the form that each provider's package accepts in `providerOptions`:
 * `parallelToolCalls` in both specifications, and `reasoning` in v3.
 *
 * The names of the options come from the packages' code. A caller's own provider options take precedence.
 */
import type { Json, ProviderMetadata } from "../../core/data/message.js";
import type { ModelSettings, ReasoningEffort } from "../../core/data/model-settings.js";
import type { LanguageModel } from "./language-model.js";

type ModelDescriptor = Pick<LanguageModel, "specificationVersion" | "provider" | "modelId">;
type ProviderOptions = { readonly [key: string]: Json };
type Effort = Exclude<ReasoningEffort, "provider-default">;

/** The options of one package. A function that is absent or returns undefined means that the package has no such option. */
type ProviderPackage = {
  readonly provider: RegExp;
  /** The key of the package in `providerOptions`. */
  readonly key: string;
  readonly reasoning?: (effort: Effort, modelId: string) => ProviderOptions | undefined;
  readonly parallel?: (isAllowed: boolean) => ProviderOptions;
};

/** Maps an effort to the nearest one that a package knows. */
function toNearestEffort(efforts: { readonly [Name in Effort]?: string }, effort: Effort): ProviderOptions {
  return { reasoningEffort: efforts[effort] ?? effort };
}

/** Thinking tokens, for models that accept a number. Less than the smallest output limit of such a model. */
const thinkingBudgets: { readonly [Name in Exclude<Effort, "none">]: number } = {
  minimal: 1_024,
  low: 4_096,
  medium: 8_192,
  high: 16_384,
  xhigh: 24_576,
  max: 24_576,
};

/** Claude 4.6 and later decide how long to think, and accept an effort. Claude before 3.7 does not think. */
function detectClaudeThinking(modelId: string): "adaptive" | "budget" | undefined {
  const [, first, second] = /claude-(?:[a-z]+-)?(\d)(?:[-.](\d)(?!\d))?/.exec(modelId) ?? [];
  if (first === undefined) return undefined;
  const version = Number(first) + Number(second ?? 0) / 10;
  if (version < 3.7) return undefined;
  return version < 4.6 ? "budget" : "adaptive";
}

const claudeEfforts: { readonly [Name in Effort]?: string } = { minimal: "low", xhigh: "high" };

function anthropicReasoning(effort: Effort, modelId: string): ProviderOptions | undefined {
  const kind = detectClaudeThinking(modelId);
  if (kind === undefined) return undefined;
  if (effort === "none") return { thinking: { type: "disabled" } };
  if (kind === "budget") return { thinking: { type: "enabled", budgetTokens: thinkingBudgets[effort] } };
  return { thinking: { type: "adaptive" }, effort: claudeEfforts[effort] ?? effort };
}

function bedrockReasoning(effort: Effort, modelId: string): ProviderOptions | undefined {
  const kind = detectClaudeThinking(modelId);
  if (kind === undefined) return undefined;
  if (effort === "none") return { reasoningConfig: { type: "disabled" } };
  if (kind === "budget") return { reasoningConfig: { type: "enabled", budgetTokens: thinkingBudgets[effort] } };
  return { reasoningConfig: { type: "adaptive", maxReasoningEffort: claudeEfforts[effort] ?? effort } };
}

function googleReasoning(effort: Effort, modelId: string): ProviderOptions | undefined {
  if (/gemini-2\.5/.test(modelId)) {
    // Pro cannot stop thinking.
    const minBudget = modelId.includes("pro") ? 128 : 0;
    return { thinkingConfig: { thinkingBudget: effort === "none" ? minBudget : thinkingBudgets[effort] } };
  }
  if (!/gemini-(?:[3-9]|\d\d)/.test(modelId)) return undefined;
  const levels: { readonly [Name in Effort]?: string } = { none: "minimal", xhigh: "high", max: "high" };
  return { thinkingConfig: { thinkingLevel: levels[effort] ?? effort } };
}

const providerPackages: readonly ProviderPackage[] = [
  {
    provider: /^(openai|azure)\b/,
    key: "openai",
    reasoning: (effort) => ({ reasoningEffort: effort }),
    parallel: (parallelToolCalls) => ({ parallelToolCalls }),
  },
  {
    provider: /(^|\.)anthropic\b/,
    key: "anthropic",
    reasoning: anthropicReasoning,
    parallel: (isAllowed) => ({ disableParallelToolUse: !isAllowed }),
  },
  { provider: /^amazon-bedrock\b/, key: "bedrock", reasoning: bedrockReasoning },
  { provider: /^google\b/, key: "google", reasoning: googleReasoning },
  {
    provider: /^groq\b/,
    key: "groq",
    reasoning: (effort) => toNearestEffort({ minimal: "low", xhigh: "high", max: "high" }, effort),
    parallel: (parallelToolCalls) => ({ parallelToolCalls }),
  },
  {
    provider: /^xai\.chat$/,
    key: "xai",
    reasoning: (effort) => toNearestEffort({ minimal: "low", max: "xhigh" }, effort),
    parallel: (isAllowed) => ({ parallel_function_calling: isAllowed }),
  },
  { provider: /^xai\b/, key: "xai", reasoning: (effort) => toNearestEffort({ minimal: "low", max: "xhigh" }, effort) },
  {
    provider: /^mistral\b/,
    key: "mistral",
    // Mistral can only switch thinking on or off.
    reasoning: (effort) => ({ reasoningEffort: effort === "none" ? "none" : "high" }),
    parallel: (parallelToolCalls) => ({ parallelToolCalls }),
  },
  {
    provider: /^deepseek\b/,
    key: "deepseek",
    reasoning: (effort) =>
      effort === "none" ? { thinking: { type: "disabled" } } : toNearestEffort({ minimal: "low" }, effort),
  },
  {
    provider: /^openrouter\b/,
    key: "openrouter",
    reasoning: (effort) => ({ reasoning: { effort: effort === "max" ? "xhigh" : effort } }),
    parallel: (isAllowed) => ({ parallel_tool_calls: isAllowed }),
  },
];

/** Separate packages whose provider names look like those of `@ai-sdk/openai-compatible`. */
const incompatibleProviders = /^(cohere|perplexity|alibaba|huggingface)\b/;

function findPackage({
  provider,
  modelId,
}: ModelDescriptor): (ProviderPackage & { readonly modelId: string }) | undefined {
  if (provider === "gateway") {
    // The gateway passes the options on to the provider that the model id names.
    const slash = modelId.indexOf("/");
    const own = { provider: modelId.slice(0, Math.max(0, slash)), modelId: modelId.slice(slash + 1) };
    const providerPackage = providerPackages.find((entry) => entry.key === own.provider);
    return providerPackage === undefined ? undefined : { ...providerPackage, modelId: own.modelId };
  }
  const matchedPackage = providerPackages.find((entry) => entry.provider.test(provider));
  if (matchedPackage !== undefined) return { ...matchedPackage, modelId };
  // `@ai-sdk/openai-compatible` sends all options under the provider's name, including unknown ones.
  const [, name] = /^([^.]+)\.chat$/.exec(provider) ?? [];
  if (name === undefined || incompatibleProviders.test(provider)) return undefined;
  return {
    provider: /./,
    key: name,
    modelId,
    reasoning: (effort) => ({ reasoningEffort: effort }),
    parallel: (isAllowed) => ({ parallel_tool_calls: isAllowed }),
  };
}

/** The settings as provider options, and a warning for each setting that the package does not support. */
export type ProviderSettings = { readonly options: ProviderMetadata; readonly warnings: readonly string[] };

const noSettings: ProviderSettings = { options: {}, warnings: [] };

/** @param hasTools without tools, providers refuse options about tool calls */
export function toProviderSettings(
  { reasoning = "provider-default", parallelToolCalls }: ModelSettings,
  model: ModelDescriptor,
  hasTools: boolean,
): ProviderSettings {
  const effort = reasoning === "provider-default" || model.specificationVersion === "v4" ? undefined : reasoning;
  const parallel = hasTools ? parallelToolCalls : undefined;
  if (effort === undefined && parallel === undefined) return noSettings;
  const providerPackage = findPackage(model);
  const warnings: string[] = [];
  const options: { [key: string]: Json } = {};
  const add = (name: string, own: ProviderOptions | undefined) => {
    if (own !== undefined) Object.assign(options, own);
    else
      warnings.push(
        `${name}: the package of ${model.provider} has no such option for ${model.modelId}, so the setting has no effect`,
      );
  };
  if (effort !== undefined) add("reasoning", providerPackage?.reasoning?.(effort, providerPackage.modelId));
  // Without an option, providers allow parallel calls.
  const parallelOptions = parallel === undefined ? undefined : providerPackage?.parallel?.(parallel);
  if (parallelOptions !== undefined || parallel === false) add("parallelToolCalls", parallelOptions);
  return {
    options:
      providerPackage === undefined || Object.keys(options).length === 0 ? {} : { [providerPackage.key]: options },
    warnings,
  };
}

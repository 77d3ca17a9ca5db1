/**
 * Settings of a model call, as the log keeps them.
 */

/** How much a model thinks before it answers, from not at all to as much as it can. */
export type ReasoningEffort = "provider-default" | "none" | "minimal" | "low" | "medium" | "high" | "xhigh" | "max";

/** Settings of a model call. All are optional. A model that cannot honour a setting reports a warning. */
export type ModelSettings = {
  /** 0 or more. A higher one makes answers more varied. */
  readonly temperature?: number;
  /** From 0 to 1: only the likeliest tokens, which together have this probability. */
  readonly topP?: number;
  /** Only so many of the likeliest tokens. */
  readonly topK?: number;
  /** The most tokens of an answer. */
  readonly maxOutputTokens?: number;
  /** Texts at which the answer ends. At most 64. */
  readonly stopSequences?: readonly string[];
  /** A whole number. Providers that take one try to give the same answer again. */
  readonly seed?: number;
  /** Above 0: words that have come are less likely. */
  readonly presencePenalty?: number;
  /** Above 0: the more often a word has come, the less likely it is. */
  readonly frequencyPenalty?: number;
  /** How much the model thinks before it answers. */
  readonly reasoning?: ReasoningEffort;
  /** Whether the model may ask for several tool calls at once. Default: what the provider does. */
  readonly parallelToolCalls?: boolean;
};

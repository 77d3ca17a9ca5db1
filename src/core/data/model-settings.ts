/**
 * Settings of a model call, as the log stores them.
 */

/** How much a model reasons before it answers, from not at all to as much as it can. */
export type ReasoningEffort = "provider-default" | "none" | "minimal" | "low" | "medium" | "high" | "xhigh" | "max";

/** Settings of a model call. All are optional. A model that cannot honor a setting reports a warning. */
export type ModelSettings = {
  /** 0 or more. A higher value makes answers more varied. */
  readonly temperature?: number;
  /** From 0 to 1. The model samples only from the most likely tokens that together have this probability. */
  readonly topP?: number;
  /** The model samples only from this many of the most likely tokens. */
  readonly topK?: number;
  /** The maximum length of an answer, in tokens. */
  readonly maxOutputTokens?: number;
  /** Strings that end the answer. At most 64. */
  readonly stopSequences?: readonly string[];
  /** An integer. Providers that accept a seed try to give the same answer for the same seed. */
  readonly seed?: number;
  /** Above 0: tokens that have already appeared become less likely. */
  readonly presencePenalty?: number;
  /** Above 0: the more often a token has appeared, the less likely it becomes. */
  readonly frequencyPenalty?: number;
  /** How much the model reasons before it answers. */
  readonly reasoning?: ReasoningEffort;
  /** Whether the model may request several tool calls at once. Default: the provider's. */
  readonly parallelToolCalls?: boolean;
};

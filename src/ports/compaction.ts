/**
 * The compaction port: when a conversation is compacted, where it is cut, and what replaces the messages before the
 * cut.
 */
import type { Message } from "../core/data/message.js";
import type { TokenEstimator } from "./tokens.js";

/**
 * In tokens: the size of a conversation, and the budget it must stay below. The budget is the model's context window
 * less what is reserved for its answer.
 */
export type ContextSize = { readonly tokens: number; readonly budget: number };

export type CompactionView = ContextSize & {
  readonly messages: readonly Message[];
  /**
   * The indexes at which the conversation may be cut, ascending. A summary replaces all messages before the cut. No cut
   * separates a tool call from its result.
   */
  readonly cuts: readonly number[];
  /** Tokens of the rest of the request: system prompt and tools. */
  readonly fixed: number;
  readonly estimator: TokenEstimator;
};

export type CompactionTask = {
  /** The messages to replace. */
  readonly messages: readonly Message[];
  /** The summary of an earlier compaction. It is not among `messages`. */
  readonly earlier: Summary | null;
  readonly size: ContextSize;
  /** The most tokens that the summariser itself can be sent. */
  readonly summariserBudget: number;
  readonly estimator: TokenEstimator;
  /** Calls the summariser, without tools. Resolves to the text of its answer; rejects if it fails for good. */
  readonly ask: (prompt: SummaryPrompt) => Promise<string>;
};

export type SummaryPrompt = { readonly systemPrompt: string; readonly text: string };

/** Replaces the messages before the cut. */
export type Summary = {
  readonly summary: string;
  /** Items that are kept word for word. */
  readonly retained: readonly string[];
};

/**
 * Replace it with `services: { compaction }`. `isDue` and `cutOf` must be deterministic. If they throw, the
 * conversation is not compacted.
 */
export type CompactionService = {
  /** Whether to compact the conversation before the next model call. */
  readonly isDue: (size: ContextSize) => boolean;
  /** Returns one of `cuts`, or null if a cut would gain too little. */
  readonly cutOf: (view: CompactionView) => number | null;
  /** It has failed if it takes more than 30 minutes. */
  readonly sumUp: (task: CompactionTask) => Promise<Summary>;
};

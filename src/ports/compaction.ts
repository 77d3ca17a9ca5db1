/**
 * The compaction port: when a conversation is compacted, where it is cut, and what replaces the messages before the cut.
 */
import type { Message } from "../core/data/message.js";
import type { TokenEstimator } from "./tokens.js";

/**
 * The size of a conversation and its budget, in tokens. The budget is the model's context window minus the space reserved for the answer.
 */
export type ContextSize = {
  /** The size of the next request, in tokens. */
  readonly tokens: number;
  /** The maximum size of a request, in tokens: the context window without the space for the answer. */
  readonly budget: number;
};

/** The conversation that is to be cut. */
export type CompactionView = ContextSize & {
  readonly messages: readonly Message[];
  /**
   * The indexes at which the conversation may be cut, in ascending order. A summary replaces all messages before the cut. A cut never
   * separates a tool call from its result.
   */
  readonly cuts: readonly number[];
  /** The tokens of the rest of the request: system prompt and tools. */
  readonly fixed: number;
  /** Counts tokens. */
  readonly estimator: TokenEstimator;
};

/** The part of a conversation that is to be summarized. */
export type CompactionTask = {
  /** The messages to replace. */
  readonly messages: readonly Message[];
  /** The summary of an earlier compaction. `messages` does not include it. */
  readonly earlier: Summary | null;
  /** The size of the conversation, and its budget. */
  readonly size: ContextSize;
  /** The maximum size of a request to the summarizer itself, in tokens. */
  readonly summariserBudget: number;
  /** Counts tokens. */
  readonly estimator: TokenEstimator;
  /** How many messages follow `messages` in the conversation and are kept unchanged. Default: 0. */
  readonly kept?: number;
  /** What the person who requested this compaction asked to keep. */
  readonly keep?: string;
  /** Calls the summarizer, without tools. Resolves to the text of its answer; rejects if it fails permanently. */
  readonly ask: (prompt: SummaryPrompt) => Promise<string>;
  /**
   * Sends the agent's model the whole conversation as in the last call, followed by an instruction. The provider reads the conversation
   * from its prompt cache, which costs a fraction of sending it as text. Resolves to the text of the answer, or to null if the model called
   * a tool or the request was refused: use `ask` then. Rejects if it fails permanently.
   *
   * Absent if another model summarizes, if the conversation is unlikely to be in the cache, or if the context window has no room for it.
   */
  readonly askBehind?: (instruction: string) => Promise<string | null>;
};

/** The request for a summary. */
export type SummaryPrompt = {
  readonly systemPrompt: string;
  /** The text to summarize. */
  readonly text: string;
};

/** Replaces the messages before the cut. */
export type Summary = {
  /** The text that replaces the messages. */
  readonly summary: string;
  /** Items that are kept word for word. */
  readonly retained: readonly string[];
};

/**
 * A compaction service. Replace it with `services: { compaction }`. `isDue` and `cutOf` must be deterministic. If they throw, the
 * conversation is not compacted.
 */
export type CompactionService = {
  /** Whether to compact the conversation before the next model call. */
  readonly isDue: (size: ContextSize) => boolean;
  /** Returns one of `cuts`, or null if a cut would gain too little. */
  readonly cutOf: (view: CompactionView) => number | null;
  /** Summarizes the messages. Counts as failed after 30 minutes. */
  readonly sumUp: (task: CompactionTask) => Promise<Summary>;
};

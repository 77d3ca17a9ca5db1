/**
 * The compaction port: what decides when a conversation is made smaller, where it is cut, and what stands for the rest.
 */
import type { Message } from "../core/data/message.js";
import type { TokenEstimator } from "./tokens.js";

/** What a conversation takes, and what it may take: the model's context window without what is reserved for its answer. */
export type ContextSize = { readonly tokens: number; readonly budget: number };

export type CompactionView = ContextSize & {
  readonly messages: readonly Message[];
  /** The messages at which it may be cut, ascending: none parts a call from its result. All before the cut is replaced. */
  readonly cuts: readonly number[];
  /** Tokens of what is sent beside the messages. */
  readonly fixed: number;
  readonly estimator: TokenEstimator;
};

export type CompactionTask = {
  /** What is to be replaced. */
  readonly messages: readonly Message[];
  /** What an earlier compaction left; its message is not among `messages`. */
  readonly earlier: Summary | null;
  readonly size: ContextSize;
  /** What the summariser itself can take in. */
  readonly summariserBudget: number;
  readonly estimator: TokenEstimator;
  /** Asks the summariser, without tools; gives the text of its answer. Rejects where it fails for good. */
  readonly ask: (prompt: SummaryPrompt) => Promise<string>;
};

export type SummaryPrompt = { readonly systemPrompt: string; readonly text: string };

/** What stands for the messages that are gone. */
export type Summary = {
  readonly summary: string;
  /** What is kept word for word. */
  readonly retained: readonly string[];
};

/** May be replaced (`services: { compaction }`). `isDue` and `cutOf` are deterministic; what throws there counts as no. */
export type CompactionService = {
  /** Whether the conversation should be made smaller before the next model call. */
  readonly isDue: (size: ContextSize) => boolean;
  /** Where it would be cut: one of `cuts`, or null where there is nothing to gain. */
  readonly cutOf: (view: CompactionView) => number | null;
  readonly sumUp: (task: CompactionTask) => Promise<Summary>;
};

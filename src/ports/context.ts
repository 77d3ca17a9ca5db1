/**
 * The context port: what a model is sent beside the conversation that the log holds.
 *
 * 1. It is deterministic: the same view gives the same context, in another process and after a crash too.
 * 2. What a model sees is in the log. A context adds to the conversation, and what it adds is committed before the call; it
 *    does not rewrite what is there. What makes a conversation smaller is a compaction.
 * 3. What stays the same comes first: a provider's prompt cache ends at the first difference.
 */
import type { Message, UserMessage } from "../core/data/message.js";
import type { ToolSpecification } from "./model.js";

/** What stays the same for all of a run. */
export type RunData = {
  readonly sessionId: string;
  readonly runId: string;
  /** Epoch milliseconds. */
  readonly startedAt: number;
  readonly root?: string;
  /** The agent's own, by name. */
  readonly data: { readonly [name: string]: string };
};

/** What changes from one call to the next: a time, a branch, what is open in an editor. */
export type Hint = {
  readonly name: string;
  /** Called before each step; undefined says nothing. One that throws is left out, and told as a hook that failed. */
  readonly text: (run: RunData) => string | undefined;
};

export type ContextView = {
  readonly run: RunData;
  /** The agent's, and the one that the run was given in its place. */
  readonly systemPrompt?: string;
  readonly runSystemPrompt?: string;
  /** The conversation so far. */
  readonly messages: readonly Message[];
  /** What came since, and is shown after it for the first time, once. */
  readonly input: readonly UserMessage[];
  /** What the hints say now. */
  readonly hints: readonly { readonly name: string; readonly text: string }[];
  /** What was added last and is still seen; null where nothing is. */
  readonly appended: readonly UserMessage[] | null;
  /** The specifications of all tools: the same array from one call to the next. */
  readonly tools: readonly ToolSpecification[];
};

export type Context = {
  readonly systemPrompt?: string;
  /** The conversation as it will be sent: what was there, the input, what is added. */
  readonly messages: readonly Message[];
  /** Of the tools that there are. */
  readonly tools: readonly ToolSpecification[];
  /** What of the messages is new beside the input: it comes last, and from then on belongs to the conversation. */
  readonly append: readonly UserMessage[];
};

export type ContextManager = { readonly build: (view: ContextView) => Context };

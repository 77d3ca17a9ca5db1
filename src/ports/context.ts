/**
 * The context port: what a model is sent in addition to the conversation in the log.
 *
 * 1. A context manager is deterministic: the same view gives the same context, even in another process or after a crash.
 * 2. The log holds everything that a model sees: additions to the conversation, and any list that is sent in its place. Both are committed
 *    before the call. The conversation itself does not change; only a compaction shortens it.
 * 3. Constant parts come first, because a provider's prompt cache ends at the first difference.
 */
import type { Message, UserMessage } from "../core/data/message.js";
import type { SourceTrust } from "../core/machine/sources.js";
import type { ToolSpecification } from "./model.js";
import type { SessionData } from "./session-data.js";
import type { AnyTool } from "./tool.js";

/** Facts that are the same for all calls of a run. */
export type RunData = {
  readonly sessionId: string;
  readonly runId: string;
  /** Epoch milliseconds. */
  readonly startedAt: number;
  /** The folder in which the agent works. */
  readonly root?: string;
  /** The agent's `context.data`, by name. */
  readonly data: { readonly [name: string]: string };
};

/** Passed to a function that returns a run's system prompt. */
export type RunPromptContext<Deps = unknown, Params = unknown> = {
  readonly sessionId: string;
  readonly runId: string;
  /** The principal that the session was started for, if any. */
  readonly principal?: string;
  /** The agent's `deps`. */
  readonly deps: Deps;
  /** The `params` of the run. */
  readonly params: Params;
  /** The session's data, frozen. */
  readonly data: SessionData;
  /** Aborted when the run is aborted, and after 10 seconds. */
  readonly signal: AbortSignal;
};

/** The system prompt of an agent: a string, or a function that returns one for each run. An empty string means no system prompt. */
export type SystemPrompt<Deps = unknown, Params = unknown> =
  | string
  | ((run: RunPromptContext<Deps, Params>) => string | Promise<string>);

/** A fact that changes from one call to the next: the time, the branch, the file that is open in an editor. */
export type Hint = {
  /** The name that the model sees. */
  readonly name: string;
  /**
   * Called before each step. Return undefined to omit the hint. If the function throws, the hint is omitted and reported as a failed hook.
   * `data` is the session's data, frozen.
   */
  readonly text: (run: RunData, session: { readonly data: SessionData }) => string | undefined;
};

/** A document that is sent with the system prompt. */
export type SourceText = {
  /** The name of the source: 1 to 200 characters. */
  readonly name: string;
  /** Where the text comes from: a path or another address. At most 4,096 characters. */
  readonly path: string;
  /** The content. */
  readonly text: string;
  /** Who wrote the text. The model is shown this; a text never grants a tool or a permission. */
  readonly trust: SourceTrust;
};

/** Outside texts that a run follows, such as the files of a folder or the pages of a handbook. */
export type ContextSource = {
  /** Its name in events and messages. */
  readonly name: string;
  /**
   * Called before a run's first model call. The run keeps these texts until it ends, in other processes as well; the next run loads them
   * again. The system prompt keeps the texts of the session's first run until a compaction; texts that have changed since follow the
   * request in a message. All sources of an agent together have 10 seconds, and may return 200 texts with 1 MiB in all. If a source throws
   * or takes longer, the run fails with reason `hook_failed`.
   */
  readonly load: (
    run: RunData,
    options: {
      readonly signal: AbortSignal;
      /**
       * The texts that all sources returned for the session's last run, so that a source can return the same text in every run. Undefined
       * before the session's first model call; empty if there were none, or if another agent has had the session since. A text that the
       * store has lost is left out. A fork has the texts of its origin.
       */
      readonly earlier?: readonly SourceText[];
    },
  ) => readonly SourceText[] | Promise<readonly SourceText[]>;
  /** Tools that belong to the texts. The agent has them in addition to its own. */
  readonly tools?: readonly AnyTool[];
};

/** The input from which a context manager builds the next request. */
export type ContextView = {
  /** Facts of the run. */
  readonly run: RunData;
  /** The agent's system prompt. */
  readonly systemPrompt?: string;
  /** The run's own system prompt, which replaces the agent's. */
  readonly runSystemPrompt?: string;
  /** The conversation so far. */
  readonly messages: readonly Message[];
  /** New user messages, which the model sees for the first time in this call, after `messages`. */
  readonly input: readonly UserMessage[];
  /** The current texts of the hints. */
  readonly hints: readonly {
    /** The name of the hint. */
    readonly name: string;
    /** Its text now. */
    readonly text: string;
  }[];
  /** The last additions that the model still sees; null if there are none. */
  readonly appended: readonly UserMessage[] | null;
  /**
   * The specifications of the tools that the model is offered. The array is the same object from one call to the next. Once an output has
   * been cut, the next call has a new array with two more tools at its end.
   */
  readonly tools: readonly ToolSpecification[];
};

/** The content of the next request. */
export type Context = {
  readonly systemPrompt?: string;
  /**
   * The messages that this call sends. Messages may be left out, shortened or added; those that stay must be the same objects as in the
   * view. The list applies to this call only and does not change the conversation. Default: the view's `messages`, then `input`, then
   * `append`.
   *
   * The list must not be empty, may take at most 8 MiB as JSON, and must end with a message from the user or a tool. Each call must be
   * answered by the next message, once and in the order of the calls, and call ids must be unique. An invalid list ends the run with
   * `hook_failed`.
   */
  readonly messages?: readonly Message[];
  /** A selection of the view's `tools`. */
  readonly tools: readonly ToolSpecification[];
  /** The additions. They come last, and are part of the conversation from this call on. */
  readonly append: readonly UserMessage[];
};

/** Builds each request from the conversation. Deterministic: the same view gives the same context. */
export type ContextManager = {
  /** Called before each model call. */
  readonly build: (view: ContextView) => Context;
};

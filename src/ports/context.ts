/**
 * The context port: what a model is sent in addition to the conversation in the log.
 *
 * 1. A context manager is deterministic: the same view gives the same context, also in another process or after a
 *    crash.
 * 2. The log holds everything that a model sees: additions to the conversation, and the list that is sent in its place.
 *    Both are committed before the call. The conversation itself stays as it is; only a compaction shortens it.
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

/** Passed to a function that returns the system prompt of a run. */
export type RunPromptContext<Deps = unknown, Params = unknown> = {
  readonly sessionId: string;
  readonly runId: string;
  /** Who began the session, if it was begun for a principal. */
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
  /** The name under which the model reads it. */
  readonly name: string;
  /**
   * Called before each step. Return undefined to say nothing. If it throws, the hint is left out and reported as a
   * failed hook. `data` is the session's data, frozen.
   */
  readonly text: (run: RunData, session: { readonly data: SessionData }) => string | undefined;
};

/** A text that is sent with the system prompt. */
export type SourceText = {
  /** The name of the source: 1 to 200 characters. */
  readonly name: string;
  /** Where the text is from: a path, or another address. At most 4,096 characters. */
  readonly path: string;
  /** The text. */
  readonly text: string;
  /** Who wrote the text. The model is told; no text grants a tool or a permission. */
  readonly trust: SourceTrust;
};

/** Texts from outside that a run goes by: files of a folder, or pages of a handbook. */
export type ContextSource = {
  /** Its name in events and messages. */
  readonly name: string;
  /**
   * Called in a run before the first call of its model. The run keeps these texts to its end, in other processes too;
   * the next run loads them again. The system prompt keeps those of the session's first run until a compaction: texts
   * that changed follow the request in a message. All sources of an agent have 10 seconds together, and may give 200 texts of 1 MiB in all.
   * If one throws or takes longer, the run fails with reason `hook_failed`.
   */
  readonly load: (
    run: RunData,
    options: {
      readonly signal: AbortSignal;
      /**
       * The texts that all sources gave for the session's last run, so that a source can give the same text in every run.
       * Undefined before the session's first model call; empty if there were none, or if another agent has had the session
       * since. A text that the store has lost is left out. A fork has the texts of its origin.
       */
      readonly earlier?: readonly SourceText[];
    },
  ) => readonly SourceText[] | Promise<readonly SourceText[]>;
  /** Tools that go with the texts. The agent has them beside its own. */
  readonly tools?: readonly AnyTool[];
};

/** What a context manager builds the next request from. */
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
   * The specifications of the tools that the model is offered. It is the same array from one call to the next. It is
   * another one, with two tools more at its end, from the call on that follows the first cut output.
   */
  readonly tools: readonly ToolSpecification[];
};

/** What the next request has. */
export type Context = {
  readonly systemPrompt?: string;
  /**
   * What this call sends. Messages may be left out, shortened or added; those that stay are the very objects of the
   * view. The list is for this call only: the conversation stays as it is. Default: `messages` of the view, then
   * `input`, then `append`.
   *
   * The list is not empty, has at most 8 MiB as JSON, and ends with a message of the user or a tool. Each call is
   * answered by the next message, once and in the order of the calls, and the ids of calls are unique. Another list
   * ends the run with `hook_failed`.
   */
  readonly messages?: readonly Message[];
  /** A selection of the view's `tools`. */
  readonly tools: readonly ToolSpecification[];
  /** The additions. They come last, and belong to the conversation from this call on. */
  readonly append: readonly UserMessage[];
};

/** Builds each request from the conversation. It is deterministic: the same view gives the same context. */
export type ContextManager = {
  /** Called before each model call. */
  readonly build: (view: ContextView) => Context;
};

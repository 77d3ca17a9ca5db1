/**
 * The model port. A model always streams its answer.
 */

import type {
  FilePart,
  FinishReason,
  Json,
  Message,
  ModelFailure,
  ProviderMetadata,
  ToolOutput,
  Usage,
} from "../core/data/message.js";
import type { ModelSettings } from "../core/data/model-settings.js";
import type { Price } from "../core/data/price.js";
import type { RunOptions, ToolChoice } from "../core/machine/event.js";

/** A JSON Schema object: draft 7, or the parts of 2020-12 that draft 7 also has. */
export type JsonSchema = { readonly [key: string]: Json };

/** A tool as a model sees it. */
export type ToolSpecification = {
  readonly name: string;
  /** What the tool does, for the model. */
  readonly description: string;
  /** The JSON Schema of its input. */
  readonly inputSchema: JsonSchema;
  /** Provider options, keyed by provider name. */
  readonly providerOptions?: ProviderMetadata;
  /** Whether the provider should force inputs to fit the schema. Default: the provider decides. */
  readonly strict?: boolean;
  /** Example inputs that show the model how to call the tool. */
  readonly inputExamples?: readonly Json[];
  /** Whether the model sees the tool only after `find_tools` has found it. Set only for models with `takesDeferredTools`. */
  readonly defer?: true;
  /** Set if the model's provider defines the tool: the provider's name for it, such as `openai.shell`, and its settings. */
  readonly provider?: ProviderToolReference;
};

/** A tool that a provider defines. Models of other providers do not support it. */
export type ProviderToolReference = {
  /** The provider's name for the tool, such as `openai.shell`. */
  readonly id: `${string}.${string}`;
  /** The settings of the tool. */
  readonly args: { readonly [name: string]: Json };
};

/** The attempt that a request belongs to. A delta with another identity fails the attempt. */
export type RequestIdentity = {
  readonly sessionId: string;
  readonly runId: string;
  readonly modelCallIndex: number;
  readonly attempt: number;
};

/** A request to a model. A model that cannot honor a setting reports that in the `warnings` of its first delta. */
export type ModelRequest = RequestIdentity &
  ModelSettings & {
    /** Sent once, before the conversation. */
    readonly systemPrompt?: string;
    /**
     * The conversation. Every tool call in it has exactly one result, and call ids are unique. The last message is from the user or a tool,
     * or from the assistant if its provider paused and is to continue. The array does not change while the call runs, but grows afterwards:
     * copy it to keep it.
     */
    readonly messages: readonly Message[];
    /** The same array from one call to the next, as long as the tools do not change. */
    readonly tools: readonly ToolSpecification[];
    readonly toolChoice?: ToolChoice;
    /** "compaction": the model is to summarize a conversation. Absent: a step of the run. */
    readonly purpose?: "compaction";
    readonly providerOptions?: RunOptions["providerOptions"];
    /**
     * How the provider's prompt cache is used. Default: with the provider's usual lifetime. "1h": for an hour, if the provider offers that.
     * "off": the provider is not asked to cache.
     */
    readonly promptCache?: "1h" | "off";
    /** Requests JSON through the provider's JSON mode, if it has one. */
    readonly responseFormat?: {
      readonly type: "json";
      /** The JSON Schema that the answer should fit. */
      readonly schema?: JsonSchema;
      /** A name for the schema, which some providers require. */
      readonly name?: string;
    };
  };

/**
 * One increment of an attempt's stream, as a model yields it.
 *
 * A stream consists of any number of parts and exactly one `done` or `error` at the end. Each part is opened, extended and closed under an
 * id that the provider chooses. A model that fails yields `error`. If it throws instead, the thrown value is the failure.
 */
export type DeltaBody =
  /** The answer begins. */
  | {
      readonly kind: "start";
      /** The model that answers, if the provider reports it. */
      readonly model?: string;
      /** Requested features that the provider did not support. */
      readonly warnings?: readonly string[];
    }
  /** A part of text begins. */
  | {
      readonly kind: "text-start";
      /** The id of the part. */
      readonly id: string;
      readonly providerMetadata?: ProviderMetadata;
    }
  /** More text. */
  | {
      readonly kind: "text-delta";
      /** The id of the part. */
      readonly id: string;
      /** The text that is added. */
      readonly text: string;
      readonly providerMetadata?: ProviderMetadata;
    }
  /** A part of text is complete. */
  | {
      readonly kind: "text-end";
      /** The id of the part. */
      readonly id: string;
      readonly providerMetadata?: ProviderMetadata;
    }
  /** A part of reasoning begins. */
  | {
      readonly kind: "reasoning-start";
      /** The id of the part. */
      readonly id: string;
      readonly providerMetadata?: ProviderMetadata;
    }
  /** More reasoning. */
  | {
      readonly kind: "reasoning-delta";
      /** The id of the part. */
      readonly id: string;
      /** The text that is added. */
      readonly text: string;
      readonly providerMetadata?: ProviderMetadata;
    }
  /** The reasoning is complete. */
  | {
      readonly kind: "reasoning-end";
      /** The id of the part. */
      readonly id: string;
      readonly providerMetadata?: ProviderMetadata;
    }
  /** The arguments as the model writes them, for live display only. The call itself is `tool-call`. */
  | {
      readonly kind: "tool-input-start";
      /** The id of the call. */
      readonly id: string;
      readonly name: string;
      readonly providerExecuted?: boolean;
    }
  /** More of the arguments. */
  | {
      readonly kind: "tool-input-delta";
      /** The id of the call. */
      readonly id: string;
      /** The text that is added to the arguments. */
      readonly text: string;
    }
  /** The arguments are complete. `tool-call` contains them. */
  | {
      readonly kind: "tool-input-end";
      /** The id of the call. */
      readonly id: string;
    }
  /** A complete call. `input` is the JSON text of its arguments as received. An empty string counts as `{}`. */
  | {
      readonly kind: "tool-call";
      /** The id of the call. */
      readonly id: string;
      readonly name: string;
      /** The JSON text of the arguments. */
      readonly input: string;
      readonly providerExecuted?: boolean;
      readonly providerMetadata?: ProviderMetadata;
    }
  /** The provider asks for permission to run an earlier call. `id` is the id of that call. */
  | {
      readonly kind: "tool-approval-request";
      /** The id of the call. */
      readonly id: string;
      /** The id under which the decision is sent back. */
      readonly approvalId: string;
    }
  /** The result of a call that the provider ran itself, in this answer or in an earlier one that it paused. */
  | {
      readonly kind: "tool-result";
      /** The id of the call. */
      readonly id: string;
      readonly name: string;
      /** The result. */
      readonly output: ToolOutput;
      readonly isError?: boolean;
      readonly providerMetadata?: ProviderMetadata;
    }
  /** A file that the model created. */
  | {
      readonly kind: "file";
      readonly mediaType: string;
      /** A base64 string or an http(s) URL. */
      readonly data: string;
      readonly providerMetadata?: ProviderMetadata;
    }
  /** A source that the model cites. */
  | {
      readonly kind: "source";
      /** The id of the source. */
      readonly id: string;
      /** The URL of a page. */
      readonly url?: string;
      /** The title of the page or document. */
      readonly title?: string;
      readonly filename?: string;
      readonly mediaType?: string;
      readonly providerMetadata?: ProviderMetadata;
    }
  /** The answer is complete: the last delta. */
  | {
      readonly kind: "done";
      readonly finishReason: FinishReason;
      readonly usage: Usage;
      readonly providerMetadata?: ProviderMetadata;
    }
  /** The attempt failed: the last delta. */
  | { readonly kind: "error"; readonly failure: ModelFailure; readonly usage?: Usage };

export type DeltaKind = DeltaBody["kind"];

/** A delta as a model yields it. It carries its attempt and number if the model, or a proxy in front of it, knows them. */
export type ModelDelta = DeltaBody &
  Partial<RequestIdentity> & {
    /** Its number within the attempt, from 1. */
    readonly seq?: number;
  };

/** A model call to make, as passed to `runModel`. */
export type ModelRun = {
  /** The name of the calling agent. */
  readonly agent: string;
  /** The model that would be called. */
  readonly model: Model;
  /** The whole request. */
  readonly request: ModelRequest;
  /** Aborted when the answer is no longer needed. */
  readonly signal: AbortSignal;
};

/**
 * Makes a model call in place of the model's own `stream`, which `own` calls. Timeouts, retries, prices, hooks and the log remain the
 * loop's job.
 */
export type RunModel = (run: ModelRun, own: () => AsyncIterable<ModelDelta>) => AsyncIterable<ModelDelta>;

/** A delta as subscribers receive it. `seq` is its number within the attempt, from 1 without gaps. */
export type MessageDelta = DeltaBody & {
  readonly runId: string;
  readonly modelCallIndex: number;
  readonly attempt: number;
  /** Its number within the attempt, from 1 without gaps. */
  readonly seq: number;
};

/**
 * How long Pawl waits for a model, in milliseconds. `Infinity` means no limit. An attempt that takes longer fails with kind `timeout` and
 * is retried like any other failure.
 */
export type ModelTimeouts = {
  /**
   * From the request to the beginning of the answer. A delta that only announces reasoning does not count as the beginning. Default:
   * 120,000.
   */
  readonly firstChunkMs?: number;
  /** Between two increments of the answer. Default: 60,000. */
  readonly chunkMs?: number;
  /** For the whole answer. Default: 600,000. */
  readonly totalMs?: number;
};

/** A model as Pawl calls it. AI SDK models are converted to this interface. */
export interface Model {
  /** Its name in logs, price tables and lists: `provider/model`. */
  readonly id: string;
  /** The context window in tokens, input and output together, if known. */
  readonly contextWindow?: number;
  /** The price in US dollars per million tokens. A price in the agent's table (`usage.prices`) takes precedence. */
  readonly price?: Price;
  /**
   * Whether a program gives the answers, as in tests. Evals then call the model each time instead of caching its answers, because the id
   * stays the same when the program changes. Default: false.
   */
  readonly isScripted?: boolean;
  /**
   * Whether the provider charges less for the beginning of a request if it repeats an earlier request. Pawl then keeps the list of tools
   * the same from a run's first model call on. Default: false.
   */
  readonly cachesPrompts?: boolean;
  /**
   * Whether requests should also contain the deferred tools, marked `defer: true`, because the provider can load a tool that `find_tools`
   * has found. The model then calls the tool by its own name. Default: false, and the model calls deferred tools through `call_tool`.
   */
  readonly takesDeferredTools?: boolean;
  /**
   * Whether a tool's result may contain a file of this media type. Default: images, audio, video and PDF. A file that the model does not
   * accept is replaced by a text that describes it.
   */
  readonly takesInResults?: (mediaType: string) => boolean;
  /**
   * Why the model's provider is known to refuse a file, as text for people; null if it is not known to. A request with such a file fails,
   * so code that adds files to a message should check first.
   */
  readonly whyRefused?: (file: FilePart) => string | null;
  /**
   * Streams one answer. Once `signal` is aborted, the stream ends early without raising an error. One call is one request: a model must not
   * retry. If the first delta is an `error` with an `unanswered` failure, the model may be called again with the same request, at once and
   * within the same attempt.
   */
  stream(request: ModelRequest, signal: AbortSignal): AsyncIterable<ModelDelta>;
}

/**
 * One recorded request of a model call; an attempt usually has only one. If the model threw or was aborted, the last delta is the
 * corresponding `error`.
 */
export type RecordedAttempt = {
  /** The model's id. */
  readonly model: string;
  /** The request. For an attempt read from a session's log, it contains only the messages. */
  readonly request: RequestIdentity & Pick<ModelRequest, "messages"> & Partial<ModelRequest>;
  /** False if `request` contains only the messages. */
  readonly isWhole: boolean;
  /** The model's deltas, in order. The last is `done` or `error`. */
  readonly deltas: readonly DeltaBody[];
};

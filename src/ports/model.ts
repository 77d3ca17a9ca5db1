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

/** A JSON Schema object: draft 7, or those parts of 2020-12 that draft 7 has too. */
export type JsonSchema = { readonly [key: string]: Json };

/** A tool as a model sees it. */
export type ToolSpecification = {
  readonly name: string;
  /** What the tool does, for the model. */
  readonly description: string;
  /** The JSON Schema of its input. */
  readonly inputSchema: JsonSchema;
  /** Options for providers, by the provider's name. */
  readonly providerOptions?: ProviderMetadata;
  /** Whether the provider should force inputs to fit the schema. Default: the provider decides. */
  readonly strict?: boolean;
  /** Inputs that show a model how the tool is called. */
  readonly inputExamples?: readonly Json[];
  /** Whether the model sees the tool only after `find_tools` has found it. Only models with `takesDeferredTools` get these. */
  readonly defer?: true;
  /** Set if the model's provider defines the tool: its own name of the tool, such as `openai.shell`, and its settings. */
  readonly provider?: ProviderToolReference;
};

/** A tool that a provider defines. A model of another provider does not know it. */
export type ProviderToolReference = {
  /** The provider's own name of the tool, such as `openai.shell`. */
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

/** A model that cannot honour a setting says so in the `warnings` of its first delta. */
export type ModelRequest = RequestIdentity &
  ModelSettings & {
    /** Sent once, before the conversation. */
    readonly systemPrompt?: string;
    /**
     * The conversation. Every tool call in it has exactly one result, and call ids are unique. The last message is from
     * the user or a tool; or from the assistant, if its provider paused and is to go on. The array does not change while the call runs, but grows afterwards: copy it to keep it.
     */
    readonly messages: readonly Message[];
    /** The same array from one call to the next, as long as the tools do not change. */
    readonly tools: readonly ToolSpecification[];
    readonly toolChoice?: ToolChoice;
    /** "compaction": a conversation is to be summed up. Absent: a step of the run. */
    readonly purpose?: "compaction";
    readonly providerOptions?: RunOptions["providerOptions"];
    /**
     * How the provider's prompt cache is used. Default: with the provider's usual lifetime. "1h": for an hour, if the
     * provider offers that. "off": the provider is not asked to cache.
     */
    readonly promptCache?: "1h" | "off";
    /** Asks for JSON by the provider's JSON mode, if it has one. */
    readonly responseFormat?: {
      readonly type: "json";
      /** The JSON Schema that the answer should fit. */
      readonly schema?: JsonSchema;
      /** A name for it, which some providers ask for. */
      readonly name?: string;
    };
  };

/**
 * One increment of an attempt's stream, as a model yields it.
 *
 * A stream consists of any number of parts and exactly one `done` or `error` at the end. Each part is opened, extended
 * and closed under an id that the provider chooses. A model that fails yields `error`. If it throws instead, what it
 * threw is the failure.
 */
export type DeltaBody =
  /** The answer begins. */
  | {
      readonly kind: "start";
      /** The model that answers, if the provider says so. */
      readonly model?: string;
      /** What the provider could not do of what was asked. */
      readonly warnings?: readonly string[];
    }
  /** A part of text begins. */
  | {
      readonly kind: "text-start";
      /** The id of the part. */
      readonly id: string;
      readonly providerMetadata?: ProviderMetadata;
    }
  /** More of a text. */
  | {
      readonly kind: "text-delta";
      /** The id of the part. */
      readonly id: string;
      /** The text that is added. */
      readonly text: string;
      readonly providerMetadata?: ProviderMetadata;
    }
  /** A text is whole. */
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
  /** More of the reasoning. */
  | {
      readonly kind: "reasoning-delta";
      /** The id of the part. */
      readonly id: string;
      /** The text that is added. */
      readonly text: string;
      readonly providerMetadata?: ProviderMetadata;
    }
  /** The reasoning is whole. */
  | {
      readonly kind: "reasoning-end";
      /** The id of the part. */
      readonly id: string;
      readonly providerMetadata?: ProviderMetadata;
    }
  /** The arguments while the model writes them, for live display only. The call itself is `tool-call`. */
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
  /** The arguments are whole. `tool-call` has them. */
  | {
      readonly kind: "tool-input-end";
      /** The id of the call. */
      readonly id: string;
    }
  /** A whole call. `input` is the JSON text of its arguments as received. An empty text counts as `{}`. */
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
  /** The provider asks whether it may run a call that came before. `id` is the id of the call. */
  | {
      readonly kind: "tool-approval-request";
      /** The id of the call. */
      readonly id: string;
      /** The id under which the answer goes back. */
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
  /** A file that the model made. */
  | {
      readonly kind: "file";
      readonly mediaType: string;
      /** Base64 text, or an http(s) URL. */
      readonly data: string;
      readonly providerMetadata?: ProviderMetadata;
    }
  /** A source that the model cites. */
  | {
      readonly kind: "source";
      /** The id of the source. */
      readonly id: string;
      /** The address of a page. */
      readonly url?: string;
      /** The title of the page or document. */
      readonly title?: string;
      readonly filename?: string;
      readonly mediaType?: string;
      readonly providerMetadata?: ProviderMetadata;
    }
  /** The answer is whole: the last delta. */
  | {
      readonly kind: "done";
      readonly finishReason: FinishReason;
      readonly usage: Usage;
      readonly providerMetadata?: ProviderMetadata;
    }
  /** The attempt failed: the last delta. */
  | { readonly kind: "error"; readonly failure: ModelFailure; readonly usage?: Usage };

export type DeltaKind = DeltaBody["kind"];

/** What a model yields: a delta, with its attempt and number if the model or a proxy in front of it knows them. */
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
 * Makes a model call instead of the model's `stream`, which `own` calls. Timeouts, retries, prices, hooks and the log stay
 * with the loop.
 */
export type RunModel = (run: ModelRun, own: () => AsyncIterable<ModelDelta>) => AsyncIterable<ModelDelta>;

/** A delta as subscribers get it. `seq` is its number within the attempt, from 1 without gaps. */
export type MessageDelta = DeltaBody & {
  readonly runId: string;
  readonly modelCallIndex: number;
  readonly attempt: number;
  /** Its number within the attempt, from 1 without gaps. */
  readonly seq: number;
};

/**
 * How long Pawl waits for a model, in milliseconds. `Infinity` means without limit. An attempt that takes longer fails
 * with kind `timeout`, and is retried like any failure.
 */
export type ModelTimeouts = {
  /**
   * From the request to the beginning of the answer. A delta that only announces reasoning is not yet the beginning.
   * Default: 120,000.
   */
  readonly firstChunkMs?: number;
  /** Between two increments of the answer. Default: 60,000. */
  readonly chunkMs?: number;
  /** For the whole answer. Default: 600,000. */
  readonly totalMs?: number;
};

/** A model, as Pawl calls it. Models of the AI SDK are turned into one. */
export interface Model {
  /** Its name in logs, price tables and lists: `provider/model`. */
  readonly id: string;
  /** The context window in tokens, input and output together, if known. */
  readonly contextWindow?: number;
  /** What it costs, in US dollars per million tokens. A price of the agent's table (`usage.prices`) takes precedence. */
  readonly price?: Price;
  /**
   * Whether a program gives the answers, as in tests. Evals then ask it each time instead of keeping its answers, because a changed
   * program has the same id. Default: false.
   */
  readonly isScripted?: boolean;
  /**
   * Whether the provider charges less for the beginning of a request if it repeats an earlier request. Then Pawl keeps the
   * list of tools the same from a run's first model call on. Default: false.
   */
  readonly cachesPrompts?: boolean;
  /**
   * Whether requests should also contain the deferred tools, with `defer: true`, because the model's provider can load a tool
   * that `find_tools` has found. The model then calls it by its own name. Default: false, and the model calls deferred tools
   * through `call_tool`.
   */
  readonly takesDeferredTools?: boolean;
  /**
   * Whether a tool's result may contain a file of this media type. Default: images, audio, video and PDF. A text that
   * describes the file replaces a file that the model does not take.
   */
  readonly takesInResults?: (mediaType: string) => boolean;
  /**
   * Why the model's provider is known to refuse a file, in words; null if it is not known to. A request that has such a
   * file fails, so whoever adds files to a message asks first.
   */
  readonly whyRefused?: (file: FilePart) => string | null;
  /**
   * Streams one answer. Once `signal` is aborted it ends early, without an error of its own.
   * One call is one request: a model must not retry. If the first delta is an `error` with an `unanswered` failure, the
   * model may be called again with the same request, at once and within the same attempt.
   */
  stream(request: ModelRequest, signal: AbortSignal): AsyncIterable<ModelDelta>;
}

/**
 * One recorded request of a model call, as a rule its only one of the attempt. If the model threw or was aborted, the last delta is the corresponding `error`.
 */
export type RecordedAttempt = {
  /** The model's id. */
  readonly model: string;
  /** The request. An attempt from a session's log has only the messages of its request. */
  readonly request: RequestIdentity & Pick<ModelRequest, "messages"> & Partial<ModelRequest>;
  /** False if `request` has only the messages. */
  readonly isWhole: boolean;
  /** The model's deltas, in order. The last is `done` or `error`. */
  readonly deltas: readonly DeltaBody[];
};

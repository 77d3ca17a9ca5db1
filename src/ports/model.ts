/**
 * The model port. A model always streams its answer.
 */

import type {
  FinishReason,
  Json,
  Message,
  ModelFailure,
  ProviderMetadata,
  ToolOutput,
  Usage,
} from "../core/data/message.js";
import type { ModelSettings } from "../core/data/model-settings.js";
import type { RunOptions, ToolChoice } from "../core/machine/event.js";

/** A JSON Schema object: draft 7, or those parts of 2020-12 that draft 7 has too. */
export type JsonSchema = { readonly [key: string]: Json };

/** A tool as a model sees it. */
export type ToolSpecification = {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: JsonSchema;
  /** Set if the model's provider defines the tool: its own name of the tool, such as `openai.shell`, and its settings. */
  readonly provider?: ProviderToolReference;
};

/** A tool that a provider defines. A model of another provider does not know it. */
export type ProviderToolReference = {
  readonly id: `${string}.${string}`;
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
    /** Asks for JSON by the provider's JSON mode, if it has one. */
    readonly responseFormat?: { readonly type: "json"; readonly schema?: JsonSchema; readonly name?: string };
  };

/**
 * One increment of an attempt's stream, as a model yields it.
 *
 * A stream consists of any number of parts and exactly one `done` or `error` at the end. Each part is opened, extended
 * and closed under an id that the provider chooses. A model that fails yields `error`. If it throws instead, what it
 * threw is the failure.
 */
export type DeltaBody =
  | { readonly kind: "start"; readonly model?: string; readonly warnings?: readonly string[] }
  | { readonly kind: "text-start"; readonly id: string; readonly providerMetadata?: ProviderMetadata }
  | {
      readonly kind: "text-delta";
      readonly id: string;
      readonly text: string;
      readonly providerMetadata?: ProviderMetadata;
    }
  | { readonly kind: "text-end"; readonly id: string; readonly providerMetadata?: ProviderMetadata }
  | { readonly kind: "reasoning-start"; readonly id: string; readonly providerMetadata?: ProviderMetadata }
  | {
      readonly kind: "reasoning-delta";
      readonly id: string;
      readonly text: string;
      readonly providerMetadata?: ProviderMetadata;
    }
  | { readonly kind: "reasoning-end"; readonly id: string; readonly providerMetadata?: ProviderMetadata }
  /** The arguments while the model writes them, for live display only. The call itself is `tool-call`. */
  | {
      readonly kind: "tool-input-start";
      readonly id: string;
      readonly name: string;
      readonly providerExecuted?: boolean;
    }
  | { readonly kind: "tool-input-delta"; readonly id: string; readonly text: string }
  | { readonly kind: "tool-input-end"; readonly id: string }
  /** A whole call. `input` is the JSON text of its arguments as received. An empty text counts as `{}`. */
  | {
      readonly kind: "tool-call";
      readonly id: string;
      readonly name: string;
      readonly input: string;
      readonly providerExecuted?: boolean;
      readonly providerMetadata?: ProviderMetadata;
    }
  /** The provider asks whether it may run a call that came before. `id` is the id of the call. */
  | { readonly kind: "tool-approval-request"; readonly id: string; readonly approvalId: string }
  /** The result of a call that the provider ran itself, in this answer or in an earlier one that it paused. */
  | {
      readonly kind: "tool-result";
      readonly id: string;
      readonly name: string;
      readonly output: ToolOutput;
      readonly isError?: boolean;
      readonly providerMetadata?: ProviderMetadata;
    }
  | {
      readonly kind: "file";
      readonly mediaType: string;
      readonly data: string;
      readonly providerMetadata?: ProviderMetadata;
    }
  | {
      readonly kind: "source";
      readonly id: string;
      readonly url?: string;
      readonly title?: string;
      readonly filename?: string;
      readonly mediaType?: string;
      readonly providerMetadata?: ProviderMetadata;
    }
  | {
      readonly kind: "done";
      readonly finishReason: FinishReason;
      readonly usage: Usage;
      readonly providerMetadata?: ProviderMetadata;
    }
  | { readonly kind: "error"; readonly failure: ModelFailure; readonly usage?: Usage };

export type DeltaKind = DeltaBody["kind"];

/** What a model yields: a delta, with its attempt and number if the model or a proxy in front of it knows them. */
export type ModelDelta = DeltaBody & Partial<RequestIdentity> & { readonly seq?: number };

/** A delta as subscribers get it. `seq` is its number within the attempt, from 1 without gaps. */
export type MessageDelta = DeltaBody & {
  readonly runId: string;
  readonly modelCallIndex: number;
  readonly attempt: number;
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

export interface Model {
  /** Its name in logs, price tables and lists: `provider/model`. */
  readonly id: string;
  /** The context window in tokens, input and output together, if known. */
  readonly contextWindow?: number;
  /**
   * Whether a tool's result may contain a file of this media type. Default: images, audio, video and PDF. A text that
   * describes the file replaces a file that the model does not take.
   */
  readonly takesInResults?: (mediaType: string) => boolean;
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

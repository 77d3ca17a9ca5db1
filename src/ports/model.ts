/**
 * The model port: a model is called by streaming, and in no other way.
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
import type { RunOptions, ToolChoice } from "../core/machine/event.js";

/** A JSON Schema object (draft 7, or 2020-12 as far as it is alike). */
export type JsonSchema = { readonly [key: string]: Json };

/** What a model is told of a tool. */
export type ToolSpecification = {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: JsonSchema;
};

/** Where a request belongs. A delta that names another place is a failure of the provider (STRM-8). */
export type RequestIdentity = {
  readonly sessionId: string;
  readonly runId: string;
  readonly modelCallIndex: number;
  readonly attempt: number;
};

export type ModelRequest = RequestIdentity & {
  /** Sent once, first. */
  readonly systemPrompt?: string;
  /**
   * The conversation. Every tool call in it has exactly one result, ids of calls are unique, and the last message is a
   * user's or a tool's. The array is stable while the call runs and grows afterwards: copy it to keep it.
   */
  readonly messages: readonly Message[];
  /** The same array from one call to the next as long as the tools do not change. */
  readonly tools: readonly ToolSpecification[];
  readonly toolChoice?: ToolChoice;
  readonly maxOutputTokens?: number;
  readonly temperature?: number;
  readonly providerOptions?: RunOptions["providerOptions"];
  /** For answers with a shape: the provider's JSON mode, where there is one. */
  readonly responseFormat?: { readonly type: "json"; readonly schema?: JsonSchema; readonly name?: string };
};

/**
 * One increment of an attempt's stream, as a model yields it.
 *
 * A stream is any number of parts, each opened, added to and closed under an id of the provider's choice, and ends with
 * exactly one `done` or `error`. A model that fails yields `error`; one that throws has failed with what it threw.
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
  /** The arguments as they are written: live only. The call counts when `tool-call` comes. */
  | {
      readonly kind: "tool-input-start";
      readonly id: string;
      readonly name: string;
      readonly providerExecuted?: boolean;
    }
  | { readonly kind: "tool-input-delta"; readonly id: string; readonly text: string }
  | { readonly kind: "tool-input-end"; readonly id: string }
  /** A whole call. `input` is the JSON text of its arguments, as received; an empty text counts as `{}`. */
  | {
      readonly kind: "tool-call";
      readonly id: string;
      readonly name: string;
      readonly input: string;
      readonly providerExecuted?: boolean;
      readonly providerMetadata?: ProviderMetadata;
    }
  /** The result of a call that the provider ran itself. */
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

/** What a model yields: a delta, with its place and number where the model (or what is between) knows them. */
export type ModelDelta = DeltaBody & Partial<RequestIdentity> & { readonly seq?: number };

/** A delta as subscribers get it: its place in the session, and its number within the attempt, from 1 without gaps. */
export type MessageDelta = DeltaBody & {
  readonly runId: string;
  readonly modelCallIndex: number;
  readonly attempt: number;
  readonly seq: number;
};

/**
 * How long a model is waited for, in milliseconds; `Infinity` for as long as it takes. What takes longer is a failure of
 * kind `timeout`, which is retried as any other.
 */
export type ModelTimeouts = {
  /** Until the answer begins, from the request on; 120,000. A model that says it has begun to think has not begun to answer. */
  readonly firstChunkMs?: number;
  /** Between two increments of the answer; 60,000. */
  readonly chunkMs?: number;
  /** For the whole answer; 600,000. */
  readonly totalMs?: number;
};

export interface Model {
  /** How it is called in logs and lists: `provider/model`. */
  readonly id: string;
  /** Tokens that the model can take in and give out together, where known. */
  readonly contextWindow?: number;
  /**
   * Whether it can be shown a file of a media type within a tool's result; images, sounds, videos and PDF unless given. What it
   * cannot be shown it is told of in words.
   */
  readonly takesInResults?: (mediaType: string) => boolean;
  /**
   * Streams one answer. Ends early, without an error of its own, once `signal` is aborted.
   * Retries are not its business: one call is one attempt.
   */
  stream(request: ModelRequest, signal: AbortSignal): AsyncIterable<ModelDelta>;
}

/**
 * One attempt of a model call, as it was recorded. A model that threw, or was aborted, ends with the failure that it counts as.
 */
export type RecordedAttempt = {
  /** The model's id. */
  readonly model: string;
  /** What was asked. Of an attempt that is taken from a session's log only the messages are known (`isWhole` is false). */
  readonly request: RequestIdentity & Pick<ModelRequest, "messages"> & Partial<ModelRequest>;
  readonly isWhole: boolean;
  /** What the model said, in order; the last one is `done` or `error`. */
  readonly deltas: readonly DeltaBody[];
};

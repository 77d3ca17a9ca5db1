/**
 * Messages between a person, a model and tools, as plain JSON.
 *
 * An assistant message is stored and sent back exactly as received, with all parts in their order and the provider's metadata.
 */
import { deepFreeze } from "./freeze.js";

/** A JSON value. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/** Data that a provider attaches to a part and expects back, such as thinking signatures or cache markers. Keyed by provider. */
export type ProviderMetadata = { readonly [provider: string]: { readonly [key: string]: Json } };

/** A text part of a message. */
export type TextPart = {
  readonly type: "text";
  /** The text as it was written. */
  readonly text: string;
  readonly providerMetadata?: ProviderMetadata;
};

/** The model's reasoning before its answer, as far as its provider reveals it. */
export type ReasoningPart = {
  readonly type: "reasoning";
  /** The reasoning; empty if the provider does not reveal it. */
  readonly text: string;
  readonly providerMetadata?: ProviderMetadata;
};

/**
 * An image or another file. `data` is a base64 string or an http(s) URL. In the log it may also be `blob:`, the hash of a blob of the
 * session, a slash and the size in bytes.
 */
export type FilePart = {
  readonly type: "file";
  readonly mediaType: string;
  /** A base64 string, an http(s) URL, or a reference to a blob. */
  readonly data: string;
  readonly filename?: string;
  readonly providerMetadata?: ProviderMetadata;
};

/** A source that the model cites. It is kept for readers and is not sent back to a model. */
export type SourcePart = {
  readonly type: "source";
  /** The id that the provider gave to the source. */
  readonly id: string;
  /** The URL of a page. */
  readonly url?: string;
  /** The title of the page or document. */
  readonly title?: string;
  readonly filename?: string;
  readonly mediaType?: string;
  readonly providerMetadata?: ProviderMetadata;
};

/**
 * A tool call as the model asked for it.
 * `toolCallId` is the provider's id. It does not identify the call; `callKey` does.
 * If the arguments are not acceptable JSON, `input` is `{ _raw }` with their text, and `invalid` names the position at which parsing
 * failed.
 */
export type ToolCallPart = {
  readonly type: "tool_call";
  readonly toolCallId: string;
  readonly name: string;
  /** The arguments, or `{ _raw }` if they are not acceptable JSON. */
  readonly input: Json;
  /** Where parsing failed. Present only with `{ _raw }`. */
  readonly invalid?: string;
  /**
   * The provider runs the call, so it is recorded but never executed here. Its result is in the same message, or in a later one if the
   * provider paused.
   */
  readonly providerExecuted?: boolean;
  /** The provider runs the call only after an approval. The decision is sent back under this id. */
  readonly approvalId?: string;
  readonly providerMetadata?: ProviderMetadata;
};

/** The full text of a truncated output: a blob of its session, in UTF-8. A lone surrogate takes three bytes. */
export type FullOutput = {
  readonly blob: string;
  /** Whether the tool returned text, or a value that the blob holds as JSON. Absent in logs written before version 0.2. */
  readonly type?: "text" | "json";
  /** Its size in bytes. */
  readonly bytes: number;
  /** The number of lines. */
  readonly lines: number;
};

/** A file that a tool wrote: the blobs with its content before and after; null if the file did not exist. */
export type FileChange = {
  /** The path of the file. */
  readonly path: string;
  /** The blob with the previous content; null if there was no file. */
  readonly before: string | null;
  /** The blob with the new content; null if the file was removed. */
  readonly after: string | null;
  /** The permission bits, as a number. */
  readonly mode?: number;
  /** The target, if the file is a symbolic link. */
  readonly link?: string;
};

/** The output of a tool, as the model sees it. */
export type ToolOutput =
  /** Text. */
  | {
      readonly type: "text";
      /** The text that the model reads. */
      readonly text: string;
      /** Present if the output was truncated: where to find all of it. */
      readonly full?: FullOutput;
      /** Present if the output was truncated and the rest is not stored: whether the tool returned text or a value. */
      readonly cut?: "text" | "json";
    }
  /** A JSON value. */
  | {
      readonly type: "json";
      /** The value, which the model reads as JSON. */
      readonly value: Json;
    }
  /** Text and files. */
  | {
      readonly type: "content";
      /** Text and files, in order. */
      readonly parts: readonly (TextPart | FilePart)[];
      /** Present if the output was truncated: where to find all of it. */
      readonly full?: FullOutput;
    };

/** The result of a tool call, as the model sees it. */
export type ToolResultPart = {
  readonly type: "tool_result";
  readonly toolCallId: string;
  readonly name: string;
  /** The output of the tool, or the error that the model reads. */
  readonly output: ToolOutput;
  readonly isError?: boolean;
  readonly providerExecuted?: boolean;
  /** Set if the provider asked for an approval of the call: the provider is sent this decision instead of a result. */
  readonly approval?: ProviderApproval;
  readonly providerMetadata?: ProviderMetadata;
};

/** The decision on a provider's request to run a call. */
export type ProviderApproval = {
  /** The id that the provider gave to its request. */
  readonly approvalId: string;
  /** Whether the call may run. */
  readonly approved: boolean;
  /** Why the call may not run. */
  readonly reason?: string;
};

/** A part of a user message. */
export type UserPart = TextPart | FilePart;
/** A part of an assistant message. */
export type AssistantPart = TextPart | ReasoningPart | FilePart | SourcePart | ToolCallPart | ToolResultPart;

/** A message from the user. */
export type UserMessage = {
  readonly role: "user";
  /** Text and files, in order. */
  readonly parts: readonly UserPart[];
};
/** A message from a model, as the provider sent it. */
export type AssistantMessage = {
  readonly role: "assistant";
  /** Its parts, in the order in which they arrived. */
  readonly parts: readonly AssistantPart[];
  /** The provider's data about the whole message, such as the container that its code ran in. */
  readonly providerMetadata?: ProviderMetadata;
};
/** The results of a step's tool calls. */
export type ToolMessage = {
  readonly role: "tool";
  /** One result per call, in the order of the calls. */
  readonly parts: readonly ToolResultPart[];
};
/** A message of a conversation. */
export type Message = UserMessage | AssistantMessage | ToolMessage;

/** The usage of model calls. A field is absent if its value is unknown; unknown is never zero. */
export type Usage = {
  /** Input tokens, including those read from and written to a cache. */
  readonly inputTokens?: number;
  /** Output tokens, including reasoning tokens. */
  readonly outputTokens?: number;
  /** Output tokens spent on reasoning. `outputTokens` includes them. */
  readonly reasoningTokens?: number;
  /** Input tokens that the provider read from its cache. `inputTokens` includes them. */
  readonly cacheReadTokens?: number;
  /** Input tokens that the provider wrote to its cache. `inputTokens` includes them. */
  readonly cacheWriteTokens?: number;
  /** The part of `cacheWriteTokens` that the provider keeps for an hour, which may cost more to write. */
  readonly cacheWrite1hTokens?: number;
  /** US dollars, from a price table or reported by the provider. */
  readonly costUsd?: number;
  /**
   * Part of the usage is unknown, because an attempt failed or was aborted, or because a model has no price. The numbers are a lower bound.
   */
  readonly partial?: boolean;
};

/** Why the model stopped: a reason from a closed set, and the provider's own term. */
export type FinishReason = {
  /** The reason, normalized across providers. */
  readonly unified: "stop" | "length" | "content-filter" | "tool-calls" | "error" | "other";
  /** The provider's own term. */
  readonly raw?: string;
};

/** A failure as data. `code` is stable across versions; `message` is for people. */
export type Fault = {
  /** The kind of failure, stable across versions. */
  readonly code: string;
  /** What happened, for people. */
  readonly message: string;
  /** Whether a retry may succeed. */
  readonly retryable: boolean;
  /** The message of the underlying error. */
  readonly cause?: string;
};

/** The kind of a failed attempt, normalized across providers. The retry policy is based on it. */
export type ModelFailureKind =
  | "rate_limit"
  | "overloaded"
  | "timeout"
  | "network"
  | "context_overflow"
  | "quota"
  | "auth"
  | "invalid_request"
  | "content_filter"
  | "provider"
  | "cancelled";

/** A failed attempt of a model call. `retryAfterMs` is the delay that the provider asked for. */
export type ModelFailure = {
  /** The kind of failure. */
  readonly kind: ModelFailureKind;
  /** What happened, for people. */
  readonly message: string;
  /** The HTTP status of the response, if there was one. */
  readonly statusCode?: number;
  /**
   * The provider's code, or one of Pawl's own. `empty_response`: the answer is complete but empty. `guard_tripped`: a guard ended the call.
   * `paused_too_often`: the provider kept pausing its turn. `nothing_listens`: no server listens at a local address.
   */
  readonly code?: string;
  /** The delay that the provider asked for, in milliseconds. */
  readonly retryAfterMs?: number;
  /** The connection closed before any part of an answer arrived. Such a request may be resent at once. */
  readonly unanswered?: boolean;
};

/** The failure recorded if a provider ends its answer with the reason `error` and nothing else. It is handled like a status 500. */
export const providerErrorFailure: ModelFailure = deepFreeze({
  kind: "provider",
  message: "The provider ended its answer with an error.",
  statusCode: 500,
});

/** The failure code of an answer that is complete but empty. */
export const emptyResponseCode = "empty_response";

/** The failure code of a final summary that contains only tool calls and no text. */
export const onlyCallsCode = "only_calls";

/** The failure code of a model call that a guard ended. */
export const guardTrippedCode = "guard_tripped";

/** The failure code if a provider keeps pausing its turn and never finishes it. */
export const pausedTooOftenCode = "paused_too_often";

/** The failure code of a request to a local address where no server listens. */
export const nothingListensCode = "nothing_listens";

/**
 * The calls of a message that need something from this process, in order: the calls to run, and the calls that the provider runs after an
 * approval.
 */
export function toolCallsOf(message: AssistantMessage): readonly ToolCallPart[] {
  return message.parts.filter(
    (part): part is ToolCallPart =>
      part.type === "tool_call" && (part.providerExecuted !== true || part.approvalId !== undefined),
  );
}

/** The ids of calls that the provider runs without an approval and whose results are not in this message. */
export function findOpenProviderCalls({ parts }: AssistantMessage): readonly string[] {
  const open: string[] = [];
  for (const part of parts) {
    if (part.type === "tool_call" && part.providerExecuted === true && part.approvalId === undefined)
      open.push(part.toolCallId);
    const openIndex = part.type === "tool_result" ? open.indexOf(part.toolCallId) : -1;
    if (openIndex !== -1) open.splice(openIndex, 1);
  }
  return open;
}

/**
 * The text of a message, trimmed. The text parts of an assistant message are concatenated, because a provider cuts one sentence into
 * several parts, for example at each citation. Those of a user message are joined with newlines.
 */
export function textOf(message: Message): string {
  return untrimmedTextOf(message).trim();
}

/** The text of a message, untrimmed: trailing space matters if a later answer continues it. */
export function untrimmedTextOf(message: Message): string {
  const texts: string[] = [];
  for (const part of message.parts) if (part.type === "text") texts.push(part.text);
  return texts.join(message.role === "user" ? "\n" : "");
}

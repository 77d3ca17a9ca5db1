/**
 * Messages between a person, a model and tools, as plain JSON.
 *
 * An assistant message is kept and sent back as it was received: all parts, their order and the provider's metadata.
 */
import { deepFreeze } from "./freeze.js";

/** A value that JSON can hold. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/**
 * Data that a provider attaches to a part and wants back, such as thinking signatures or cache markers. Keyed by
 * provider.
 */
export type ProviderMetadata = { readonly [provider: string]: { readonly [key: string]: Json } };

/** Text of a message. */
export type TextPart = {
  readonly type: "text";
  /** The text as it was written. */
  readonly text: string;
  readonly providerMetadata?: ProviderMetadata;
};

/** What the model thought before it answered, as far as its provider shows it. */
export type ReasoningPart = {
  readonly type: "reasoning";
  /** The reasoning; empty if the provider keeps it to itself. */
  readonly text: string;
  readonly providerMetadata?: ProviderMetadata;
};

/**
 * An image or another file. `data` is base64 text or an http(s) URL. In the log it may also be `blob:`, the name of a
 * blob of the session, a slash and the size in bytes.
 */
export type FilePart = {
  readonly type: "file";
  readonly mediaType: string;
  /** Base64 text, an http(s) URL, or the name of a blob. */
  readonly data: string;
  readonly filename?: string;
  readonly providerMetadata?: ProviderMetadata;
};

/** A source that the model cites. It is kept for readers and not sent back to a model. */
export type SourcePart = {
  readonly type: "source";
  /** The id that the provider gave the source. */
  readonly id: string;
  /** The address of a page. */
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
 * If the arguments are not acceptable JSON, `input` is `{ _raw }` with their text, and `invalid` names the place at
 * which parsing failed.
 */
export type ToolCallPart = {
  readonly type: "tool_call";
  readonly toolCallId: string;
  readonly name: string;
  /** The arguments, or `{ _raw }` if they are no acceptable JSON. */
  readonly input: Json;
  /** Where parsing failed. Present only with `{ _raw }`. */
  readonly invalid?: string;
  /**
   * The provider runs the call, so it is recorded and never run here. Its result is in the same message, or in a later
   * one if the provider paused.
   */
  readonly providerExecuted?: boolean;
  /** The provider runs the call only after an approval. The answer goes back under this id. */
  readonly approvalId?: string;
  readonly providerMetadata?: ProviderMetadata;
};

/** The whole text of an output that was cut: a blob of its session, in UTF-8. A lone surrogate is three bytes. */
export type FullOutput = {
  readonly blob: string;
  /** Whether the tool returned text, or a value, which the blob holds as JSON. Absent in logs written before version 0.2. */
  readonly type?: "text" | "json";
  /** Its size in bytes. */
  readonly bytes: number;
  /** The number of its lines. */
  readonly lines: number;
};

/** A file that a tool wrote: the blobs with its content before and after; null if the file did not exist. */
export type FileChange = {
  /** The path of the file. */
  readonly path: string;
  /** The blob with the content before; null if there was no file. */
  readonly before: string | null;
  /** The blob with the content after; null if the file was removed. */
  readonly after: string | null;
  /** The permission bits, as a number. */
  readonly mode?: number;
  /** The target, if the file is a symbolic link. */
  readonly link?: string;
};

/** The output of a tool, as the model sees it. */
export type ToolOutput =
  /** A text. */
  | {
      readonly type: "text";
      /** The text that the model reads. */
      readonly text: string;
      /** Present if the output was cut: where the whole of it is. */
      readonly full?: FullOutput;
      /** Present if the output was cut and the whole is not stored: whether the tool returned text or a value. */
      readonly cut?: "text" | "json";
    }
  /** A value. */
  | {
      readonly type: "json";
      /** The value that the model reads as JSON. */
      readonly value: Json;
    }
  /** Texts and files. */
  | {
      readonly type: "content";
      /** Texts and files, in order. */
      readonly parts: readonly (TextPart | FilePart)[];
      /** Present if the output was cut: where the whole of it is. */
      readonly full?: FullOutput;
    };

/** The result of a tool call, as the model is shown it. */
export type ToolResultPart = {
  readonly type: "tool_result";
  readonly toolCallId: string;
  readonly name: string;
  /** The output of the tool, or the error that the model reads. */
  readonly output: ToolOutput;
  readonly isError?: boolean;
  readonly providerExecuted?: boolean;
  /** Set if the provider asked for an approval of the call: the provider is sent this answer instead of a result. */
  readonly approval?: ProviderApproval;
  readonly providerMetadata?: ProviderMetadata;
};

/** The answer to a provider that asked whether it may run a call. */
export type ProviderApproval = {
  /** The id that the provider gave its question. */
  readonly approvalId: string;
  /** Whether the call may run. */
  readonly approved: boolean;
  /** Why it may not. */
  readonly reason?: string;
};

/** A part of a user's message. */
export type UserPart = TextPart | FilePart;
/** A part of a model's message. */
export type AssistantPart = TextPart | ReasoningPart | FilePart | SourcePart | ToolCallPart | ToolResultPart;

/** A message of the user. */
export type UserMessage = {
  readonly role: "user";
  /** Texts and files, in order. */
  readonly parts: readonly UserPart[];
};
/** A message of a model, as the provider sent it. */
export type AssistantMessage = {
  readonly role: "assistant";
  /** Its parts, in the order in which they came. */
  readonly parts: readonly AssistantPart[];
  /** The provider's data about the whole message, such as the container that its code ran in. */
  readonly providerMetadata?: ProviderMetadata;
};
/** The results of a step's tool calls. */
export type ToolMessage = {
  readonly role: "tool";
  /** One result for each call, in the order of the calls. */
  readonly parts: readonly ToolResultPart[];
};
/** A message of a conversation. */
export type Message = UserMessage | AssistantMessage | ToolMessage;

/** What model calls used. A field is absent if its value is unknown; unknown is never zero. */
export type Usage = {
  /** Input tokens, with those read from and written to a cache. */
  readonly inputTokens?: number;
  /** Output tokens, with those of reasoning. */
  readonly outputTokens?: number;
  /** Output tokens that the model thought with. `outputTokens` includes them. */
  readonly reasoningTokens?: number;
  /** Input tokens that the provider read from its cache. `inputTokens` includes them. */
  readonly cacheReadTokens?: number;
  /** Input tokens that the provider wrote to its cache. `inputTokens` includes them. */
  readonly cacheWriteTokens?: number;
  /** Those of `cacheWriteTokens` that the provider keeps for an hour, which may cost more to write. */
  readonly cacheWrite1hTokens?: number;
  /** US dollars, from a price table or from the provider. */
  readonly costUsd?: number;
  /**
   * Part of the usage is unknown: an attempt failed or was aborted, or a model has no price. The numbers are a lower
   * bound.
   */
  readonly partial?: boolean;
};

/** Why the model stopped: a reason from a closed set, and the provider's own word. */
export type FinishReason = {
  /** The reason, the same for all providers. */
  readonly unified: "stop" | "length" | "content-filter" | "tool-calls" | "error" | "other";
  /** The provider's own word. */
  readonly raw?: string;
};

/** A failure as data. `code` does not change between versions; `message` is for people. */
export type Fault = {
  /** What kind of failure it is. It does not change between versions. */
  readonly code: string;
  /** What happened, for people. */
  readonly message: string;
  /** Whether the same may work at another try. */
  readonly retryable: boolean;
  /** The message of what caused it. */
  readonly cause?: string;
};

/** The kind of a failed attempt, the same for all providers. The retry policy goes by it. */
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

/** A failed attempt of a model call. `retryAfterMs` is the wait that the provider asked for. */
export type ModelFailure = {
  /** What kind of failure it is. */
  readonly kind: ModelFailureKind;
  /** What happened, for people. */
  readonly message: string;
  /** The HTTP status of the answer, if there was one. */
  readonly statusCode?: number;
  /**
   * The provider's code, or one of Pawl's own: `empty_response` of an answer that is complete and empty, `guard_tripped` if a guard ended
   * the call, `paused_too_often` if a provider paused its turn again and again, `nothing_listens` of a request to an address of this machine where no server listens.
   */
  readonly code?: string;
  /** The wait that the provider asked for, in milliseconds. */
  readonly retryAfterMs?: number;
  /** The connection closed before anything of an answer came. Such a request may be sent again at once. */
  readonly unanswered?: boolean;
};

/**
 * The failure if a provider ends its answer with the reason `error` and nothing else. It is handled like a status 500.
 */
export const providerErrorFailure: ModelFailure = deepFreeze({
  kind: "provider",
  message: "The provider ended its answer with an error.",
  statusCode: 500,
});

/** The failure code of an answer that is complete and empty. */
export const emptyResponseCode = "empty_response";

/** The code of the failure of a last summary that called tools and said nothing. */
export const onlyCallsCode = "only_calls";

/** The failure code of a model call that a guard ended. */
export const guardTrippedCode = "guard_tripped";

/** The failure code if a provider pauses its turn again and again and never finishes it. */
export const pausedTooOften = "paused_too_often";

/** The failure code of a request to an address of this machine where no server listens. */
export const nothingListensCode = "nothing_listens";

/**
 * The calls of a message that need something from here, in order: those to run, and those that the provider runs once
 * they are approved.
 */
export function toolCallsOf(message: AssistantMessage): readonly ToolCallPart[] {
  return message.parts.filter(
    (part): part is ToolCallPart =>
      part.type === "tool_call" && (part.providerExecuted !== true || part.approvalId !== undefined),
  );
}

/** The ids of calls that the provider runs by itself, and whose results are not in this message. */
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
 * The text of a message, trimmed. The text parts of a model's message are joined as they came: a provider cuts one
 * sentence into several parts, for example at each citation. Those of a user's message stand on lines of their own.
 */
export function textOf(message: Message): string {
  return untrimmedTextOf(message).trim();
}

/** The text of a message, not trimmed: the space at its end counts if a later answer continues it. */
export function untrimmedTextOf(message: Message): string {
  const texts: string[] = [];
  for (const part of message.parts) if (part.type === "text") texts.push(part.text);
  return texts.join(message.role === "user" ? "\n" : "");
}

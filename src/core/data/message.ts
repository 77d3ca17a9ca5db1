/**
 * Messages: what a person, a model and a tool say to each other, as plain JSON.
 *
 * The assistant message is kept and sent back as it was received: all parts, their order and the provider's metadata.
 */

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/** Data that a provider attaches to a part and wants back with it (thinking signatures, cache markers), by provider name. */
export type ProviderMetadata = { readonly [provider: string]: { readonly [key: string]: Json } };

export type TextPart = { readonly type: "text"; readonly text: string; readonly providerMetadata?: ProviderMetadata };

export type ReasoningPart = {
  readonly type: "reasoning";
  readonly text: string;
  readonly providerMetadata?: ProviderMetadata;
};

/** An image or another file: `data` is base64 text, or an http(s) URL; in the log also `blob:` and the name of a blob of the session. */
export type FilePart = {
  readonly type: "file";
  readonly mediaType: string;
  readonly data: string;
  readonly filename?: string;
  readonly providerMetadata?: ProviderMetadata;
};

/** Something that the model cites. Kept for the reader; not sent back to a model. */
export type SourcePart = {
  readonly type: "source";
  readonly id: string;
  readonly url?: string;
  readonly title?: string;
  readonly filename?: string;
  readonly mediaType?: string;
  readonly providerMetadata?: ProviderMetadata;
};

/**
 * One tool call as the model asked for it.
 * `toolCallId` is the provider's id: an attribute, never an identity (that is `callKey`).
 * Arguments that are not acceptable JSON are kept as `{ _raw }`, and `invalid` says where parsing failed.
 */
export type ToolCallPart = {
  readonly type: "tool_call";
  readonly toolCallId: string;
  readonly name: string;
  readonly input: Json;
  readonly invalid?: string;
  /** The provider ran it itself; its result is part of the same message. It is recorded and never run here. */
  readonly providerExecuted?: boolean;
  readonly providerMetadata?: ProviderMetadata;
};

/** The whole text of an output that was cut: a blob of its session, in UTF-8 (half of a character as the three bytes of its number). */
export type FullOutput = { readonly blob: string; readonly bytes: number; readonly lines: number };

/** A file that a tool wrote: the blobs that hold it from before and after; null where it did not exist. */
export type FileChange = {
  readonly path: string;
  readonly before: string | null;
  readonly after: string | null;
  /** The permission bits, as a number. */
  readonly mode?: number;
  /** Where a symbolic link leads. */
  readonly link?: string;
};

/** What a tool gave, as the model sees it. */
export type ToolOutput =
  | { readonly type: "text"; readonly text: string; readonly full?: FullOutput }
  | { readonly type: "json"; readonly value: Json }
  | { readonly type: "content"; readonly parts: readonly (TextPart | FilePart)[]; readonly full?: FullOutput };

export type ToolResultPart = {
  readonly type: "tool_result";
  readonly toolCallId: string;
  readonly name: string;
  readonly output: ToolOutput;
  readonly isError?: boolean;
  readonly providerExecuted?: boolean;
  readonly providerMetadata?: ProviderMetadata;
};

export type UserPart = TextPart | FilePart;
export type AssistantPart = TextPart | ReasoningPart | FilePart | SourcePart | ToolCallPart | ToolResultPart;

export type UserMessage = { readonly role: "user"; readonly parts: readonly UserPart[] };
export type AssistantMessage = { readonly role: "assistant"; readonly parts: readonly AssistantPart[] };
export type ToolMessage = { readonly role: "tool"; readonly parts: readonly ToolResultPart[] };
export type Message = UserMessage | AssistantMessage | ToolMessage;

/** What was used. A field is absent where nobody said: unknown is never zero. */
export type Usage = {
  /** Tokens that the model took in, those that a cache gave or took included. */
  readonly inputTokens?: number;
  /** Tokens that it gave out, reasoning included. */
  readonly outputTokens?: number;
  readonly reasoningTokens?: number;
  readonly cacheReadTokens?: number;
  readonly cacheWriteTokens?: number;
  /** US dollars, by a price table or as the provider says. */
  readonly costUsd?: number;
  /** Some of it is not known (an attempt failed or was aborted, a model has no price): this is the least that was used. */
  readonly partial?: boolean;
};

/** Why the model stopped: one of a closed set, and the provider's own word. */
export type FinishReason = {
  readonly unified: "stop" | "length" | "content-filter" | "tool-calls" | "error" | "other";
  readonly raw?: string;
};

/** A failure as data. `code` is stable; `message` is for people. */
export type Fault = {
  readonly code: string;
  readonly message: string;
  readonly retryable: boolean;
  readonly cause?: string;
};

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

/** A failed attempt of a model call, typed. `retryAfterMs` is what the provider asked for. */
export type ModelFailure = {
  readonly kind: ModelFailureKind;
  readonly message: string;
  readonly statusCode?: number;
  readonly code?: string;
  readonly retryAfterMs?: number;
};

/** An answer that its provider ended with the reason `error` and nothing else: it has the standing of a status 500. */
export const endedWithError: ModelFailure = {
  kind: "provider",
  message: "The provider ended its answer with an error.",
  statusCode: 500,
};

/** The code of an answer that was whole and had nothing in it (FIN-5). */
export const emptyResponse = "empty_response";

/** The calls of a message that are ours to run, in order. */
export function toolCallsOf(message: AssistantMessage): readonly ToolCallPart[] {
  return message.parts.filter(
    (part): part is ToolCallPart => part.type === "tool_call" && part.providerExecuted !== true,
  );
}

/** The text of a message: its text parts joined by a newline, trimmed (FIN-1). */
export function textOf(message: Message): string {
  return untrimmedTextOf(message).trim();
}

/** The same with the space around it, which counts where another text goes on from it. */
export function untrimmedTextOf(message: Message): string {
  const texts: string[] = [];
  for (const part of message.parts) if (part.type === "text") texts.push(part.text);
  return texts.join("\n");
}

/** The sum of two usages; a count that neither knows stays unknown, never zero. */
export function addUsage(a: Usage, b: Usage): Usage {
  const sum: { -readonly [K in keyof Usage]: Usage[K] } = {};
  for (const key of usageCounts) {
    const left = a[key];
    const right = b[key];
    if (left !== undefined || right !== undefined) sum[key] = (left ?? 0) + (right ?? 0);
  }
  const priced = a.costUsd !== undefined || b.costUsd !== undefined;
  if (a.partial === true || b.partial === true || (priced && (lacksCost(a) || lacksCost(b)))) sum.partial = true;
  return sum;
}

function lacksCost(usage: Usage): boolean {
  return usage.costUsd === undefined && (usage.inputTokens !== undefined || usage.outputTokens !== undefined);
}

/** The counts of a usage, each of which may be unknown. */
export const usageCounts = [
  "inputTokens",
  "outputTokens",
  "reasoningTokens",
  "cacheReadTokens",
  "cacheWriteTokens",
  "costUsd",
] as const;

/**
 * Estimates the tokens of each part of a model request, and finds where a request differs from the previous one.
 *
 * Providers cache the unchanged prefix of a request: tools, system prompt, messages.
 */
import { estimateTokens, type ModelRequest } from "../index.js";

/** Estimated token counts, not the provider's. */
export type RequestTokens = {
  readonly tools: number;
  readonly systemPrompt: number;
  readonly messages: readonly number[];
  readonly total: number;
};

export type RequestDifference = {
  readonly part: "tools" | "systemPrompt" | "message";
  /** The index of the message; null for the other parts. */
  readonly index: number | null;
  /** The estimated tokens of the previous request after the common prefix. */
  readonly tokensLost: number;
};

type RequestParts = Pick<ModelRequest, "tools" | "systemPrompt" | "messages">;

export function estimateRequestTokens({ tools, systemPrompt = "", messages }: RequestParts): RequestTokens {
  const estimates = {
    tools: tools.length === 0 ? 0 : estimateTokens(JSON.stringify(tools)),
    systemPrompt: systemPrompt === "" ? 0 : estimateTokens(systemPrompt),
    messages: messages.map((message) => estimateTokens(textOf(message))),
  };
  const total = estimates.messages.reduce((sum, tokens) => sum + tokens, estimates.tools + estimates.systemPrompt);
  return { ...estimates, total };
}

/** Finds the first difference; null if the request only adds messages, or if there is no previous request. */
export function findRequestDifference(request: RequestParts, previous: RequestParts | null): RequestDifference | null {
  if (previous === null) return null;
  const { tools, systemPrompt, messages, total } = estimateRequestTokens(previous);
  if (!isEqualJson(request.tools, previous.tools)) return { part: "tools", index: null, tokensLost: total };
  if ((request.systemPrompt ?? "") !== (previous.systemPrompt ?? ""))
    return { part: "systemPrompt", index: null, tokensLost: total - tools };
  const index = previous.messages.findIndex((message, at) => !isEqualJson(message, request.messages[at]));
  if (index === -1) return null;
  const sharedTokens = messages.slice(0, index).reduce((sum, tokens) => sum + tokens, tools + systemPrompt);
  return { part: "message", index, tokensLost: total - sharedTokens };
}

/** Leaves out the bytes of files, which are not text. */
function textOf({ parts }: ModelRequest["messages"][number]): string {
  return JSON.stringify(parts, (key, value: unknown) => (key === "data" && typeof value === "string" ? "" : value));
}

function isEqualJson(a: unknown, b: unknown): boolean {
  return a === b || JSON.stringify(a) === JSON.stringify(b);
}

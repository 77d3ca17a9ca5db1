/**
 * How many tokens of a conversation the provider has counted.
 */
import type { Usage } from "./message.js";

/** The provider counted `tokens` for the first `messages` messages, with the system prompt and the tools. */
export type CountedTokens = {
  readonly messages: number;
  /** The total number of tokens. */
  readonly tokens: number;
};

/** A model's input and output tokens together are the size of its conversation. A provider that reports 0 did not count. */
export function toCountedTokens({ inputTokens, outputTokens }: Usage, messages: number): CountedTokens | null {
  if (inputTokens === undefined || inputTokens === 0 || outputTokens === undefined) return null;
  return { messages, tokens: inputTokens + outputTokens };
}

/**
 * How much of a conversation its provider has counted.
 */
import type { Usage } from "./message.js";

/** The first `messages` of a conversation, with its prompt and tools, took so many tokens: what its provider says. */
export type CountedTokens = { readonly messages: number; readonly tokens: number };

/** What a model took in and gave out is what the conversation takes now. A count of 0 is a provider that does not count. */
export function countedTokensOf({ inputTokens, outputTokens }: Usage, messages: number): CountedTokens | null {
  if (inputTokens === undefined || inputTokens === 0 || outputTokens === undefined) return null;
  return { messages, tokens: inputTokens + outputTokens };
}

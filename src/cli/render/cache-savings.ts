/**
 * The savings through a provider's prompt cache in a run or a session, by list prices.
 */
import type { Usage } from "../../index.js";
import { savedByCache } from "../../models/index.js";

/** Input tokens, and how many of them were read from a cache. `usd` is the cost that was saved; null if a price is unknown. */
export type CacheSavings = { readonly input: number; readonly read: number; readonly usd: number | null };

export const noSavings: CacheSavings = { input: 0, read: 0, usd: 0 };

/** Adds a model call. Writing to the cache costs more than plain input, so the savings of a call may be negative. */
export function addSavings(sum: CacheSavings, model: string, usage: Usage): CacheSavings {
  const { inputTokens = 0, cacheReadTokens = 0 } = usage;
  const usd = savedByCache(model, usage);
  return {
    input: sum.input + inputTokens,
    read: sum.read + cacheReadTokens,
    usd: sum.usd === null || usd === undefined ? null : sum.usd + usd,
  };
}

/** The share of the input that was read from a cache, in whole per cent; null if nothing was read. */
export function formatCacheShare({ input, read }: Pick<CacheSavings, "input" | "read">): string | null {
  return read === 0 || input === 0 ? null : `${Math.floor((read / input) * 100)} %`;
}

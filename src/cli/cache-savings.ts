/**
 * What a provider's prompt cache saved, by list prices.
 */
import type { Usage } from "../index.js";
import { listPrices } from "../models/index.js";

/** Tokens of input, and how many of them a cache had. `usd` is what they would have cost more; null if a price is unknown. */
export type CacheSavings = { readonly input: number; readonly read: number; readonly usd: number | null };

export const noSavings: CacheSavings = { input: 0, read: 0, usd: 0 };

/** Adds a model call. A write to the cache costs more than plain input, so a call may also cost more than without a cache. */
export function addSavings(sum: CacheSavings, model: string, usage: Usage): CacheSavings {
  const { inputTokens = 0, cacheReadTokens = 0 } = usage;
  const usd = savedBy(model, usage);
  return {
    input: sum.input + inputTokens,
    read: sum.read + cacheReadTokens,
    usd: sum.usd === null || usd === null ? null : sum.usd + usd,
  };
}

function savedBy(model: string, usage: Usage): number | null {
  const { inputTokens = 0, cacheReadTokens = 0, cacheWriteTokens = 0, cacheWrite1hTokens = 0 } = usage;
  if (cacheReadTokens + cacheWriteTokens === 0) return 0;
  const rates = findRates(model, inputTokens);
  if (rates === null) return null;
  const { input, cacheRead = input, cacheWrite = input, cacheWrite1h = cacheWrite * 1.6 } = rates;
  const written = cacheWriteTokens - cacheWrite1hTokens;
  const saved =
    cacheReadTokens * (input - cacheRead) +
    written * (input - cacheWrite) +
    cacheWrite1hTokens * (input - cacheWrite1h);
  return saved / 1_000_000;
}

function findRates(model: string, inputTokens: number) {
  const price = listPrices[model] ?? listPrices[model.replace(/-(\d{8}|\d{4}-\d{2}-\d{2})$/, "")];
  if (price === undefined) return null;
  return price.long !== undefined && inputTokens > price.long.over ? price.long : price;
}

/** What tokens cost more if a cache does not have them; null if the price is unknown. */
export function costOfLoss(model: string, tokens: number): number | null {
  const rates = findRates(model, tokens);
  if (rates === null) return null;
  const { input, cacheRead = input, cacheWrite = input } = rates;
  return (tokens * (Math.max(input, cacheWrite) - cacheRead)) / 1_000_000;
}

/** The share of the input that was read from a cache, in whole per cent; null if nothing was. */
export function shareRead({ input, read }: Pick<CacheSavings, "input" | "read">): string | null {
  return read === 0 || input === 0 ? null : `${Math.floor((read / input) * 100)} %`;
}

/**
 * The cost of model calls according to a price table, the savings of the prompt cache, and the cost of a cache break.
 */
import type { CacheBreak } from "../../core/data/cache-break.js";
import type { Usage } from "../../core/data/message.js";
import { costAt } from "../../core/data/price.js";
import type { PriceTable } from "../../ports/services.js";
import type { TraceRecordOf } from "../../ports/trace.js";
import { listPrices } from "./prices.js";

/**
 * The cost of one model call in US dollars. Undefined if the model has no price, or if its provider reported no tokens.
 * @param prices Default: `listPrices`.
 */
export function costOfCall(modelId: string, usage: Usage, prices: PriceTable = listPrices): number | undefined {
  return costAt(prices, modelId, usage);
}

/**
 * How many US dollars the provider's prompt cache saved in one model call. Below 0 if the writes to the cache cost more than
 * the reads saved: a write costs more than plain input. Undefined if the model has no price, or if `usage.costUsd`
 * shows that the call was charged at other prices.
 * @param prices Default: `listPrices`.
 */
export function savedByCache(modelId: string, usage: Usage, prices: PriceTable = listPrices): number | undefined {
  const { cacheReadTokens = 0, cacheWriteTokens = 0, cacheWrite1hTokens: _, ...plain } = usage;
  if (cacheReadTokens + cacheWriteTokens === 0) return 0;
  return compareCost(modelId, usage, plain, prices);
}

/** The extra cost of a model call because the prompt cache broke. */
export type CacheLoss = {
  /** Why the cache broke. */
  readonly broke: CacheBreak;
  /** The model that was called. */
  readonly model: string;
  /**
   * Tokens that the provider charged in full, but could have read from its cache. Absent if unknown, for example after a
   * compaction.
   */
  readonly tokens?: number;
  /** How much more these tokens cost than cache reads, in US dollars. Absent if unknown. */
  readonly costUsd?: number;
};

/**
 * The cost of a break of the prompt cache, from the step's record in a trace. Null if the cache did not break, if the
 * provider was not asked to cache (`promptCache: "off"`), or if it reports no cache tokens.
 * @param prices Default: `listPrices`.
 */
export function cacheLoss(
  { reused, promptCache, attempts }: Pick<TraceRecordOf<"step">, "reused" | "promptCache" | "attempts">,
  prices: PriceTable = listPrices,
): CacheLoss | null {
  const { broke, expected } = reused;
  const last = attempts.at(-1);
  if (broke === undefined || promptCache === "off" || last?.usage === undefined) return null;
  const { model, usage } = last;
  const { inputTokens, cacheReadTokens, cacheWriteTokens } = usage;
  if (cacheReadTokens === undefined && cacheWriteTokens === undefined) return null;
  if (expected === undefined || inputTokens === undefined) return { broke, model };
  // A request that is shorter than the previous one could not have read all of it.
  const tokens = Math.max(0, Math.min(expected, inputTokens) - (cacheReadTokens ?? 0));
  const extra = compareCost(model, usage, assumeRead(usage, tokens), prices);
  return extra === undefined ? { broke, model, tokens } : { broke, model, tokens, costUsd: Math.max(0, -extra) };
}

/** The usage as if `tokens` more tokens had been read from the cache, instead of being written to it or sent as plain input. */
function assumeRead(usage: Usage, tokens: number): Usage {
  const { cacheReadTokens = 0, cacheWriteTokens = 0, cacheWrite1hTokens = 0 } = usage;
  const written = Math.max(0, cacheWriteTokens - tokens);
  const share = cacheWriteTokens === 0 ? 0 : written / cacheWriteTokens;
  return {
    ...usage,
    cacheReadTokens: cacheReadTokens + tokens,
    cacheWriteTokens: written,
    cacheWrite1hTokens: cacheWrite1hTokens * share,
  };
}

/** How many dollars `otherUsage` costs more than `usage`. The two differ only in the cache tokens. */
function compareCost(modelId: string, usage: Usage, otherUsage: Usage, prices: PriceTable): number | undefined {
  const cost = costAt(prices, modelId, assumeOutput(usage));
  const otherCost = costAt(prices, modelId, assumeOutput(otherUsage));
  if (cost === undefined || otherCost === undefined || !matchesCharge(usage, cost)) return undefined;
  return Math.round((otherCost - cost) * 1e9) / 1e9;
}

/** The output costs the same in both usages, so an unknown count can be 0. */
function assumeOutput(usage: Usage): Usage {
  return { ...usage, outputTokens: usage.outputTokens ?? 0 };
}

/**
 * Whether the call was charged at these prices: an agent may have its own, which are not in the log. Routers that report
 * their own cost add a few per cent at most.
 */
function matchesCharge({ costUsd, outputTokens }: Usage, cost: number): boolean {
  return costUsd === undefined || outputTokens === undefined || Math.abs(costUsd - cost) <= 0.1 * cost + 1e-8;
}

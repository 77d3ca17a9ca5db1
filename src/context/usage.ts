/**
 * Computes what a model call cost from a table of prices. An unknown cost is undefined, never zero or a guess (CTX-9).
 */
import type { Usage } from "../core/data/message.js";
import type { Price, PriceTable, Rates, UsageService } from "../ports/services.js";

export function createUsageService(prices: PriceTable): UsageService {
  return {
    isPriced: (modelId) => priceOf(prices, modelId) !== undefined,
    costOf(modelId, usage) {
      const price = priceOf(prices, modelId);
      return price === undefined ? undefined : costAt(price, usage);
    },
  };
}

function priceOf(prices: PriceTable, modelId: string): Price | undefined {
  if (Object.hasOwn(prices, modelId)) return prices[modelId];
  const undated = modelId.replace(/-(\d{8}|\d{4}-\d{2}-\d{2})$/, "");
  return Object.hasOwn(prices, undated) ? prices[undated] : undefined;
}

function costAt(price: Price, usage: Usage): number | undefined {
  const { inputTokens, outputTokens, cacheReadTokens = 0, cacheWriteTokens = 0, cacheWrite1hTokens = 0 } = usage;
  if (inputTokens === undefined || outputTokens === undefined) return undefined;
  const rates: Rates = price.long !== undefined && inputTokens > price.long.over ? price.long : price;
  const { input, output, cacheRead = input, cacheWrite = input, cacheWrite1h = cacheWrite * oneHourFactor } = rates;
  const plain = Math.max(0, inputTokens - cacheReadTokens - cacheWriteTokens);
  const written1h = Math.min(cacheWrite1hTokens, cacheWriteTokens);
  const written = cacheWriteTokens - written1h;
  const millionths =
    plain * input +
    cacheReadTokens * cacheRead +
    written * cacheWrite +
    written1h * cacheWrite1h +
    outputTokens * output;
  return millionths / 1_000_000;
}

/** Anthropic: a write costs 1.25 times plain input for 5 minutes, and twice plain input for an hour. */
const oneHourFactor = 1.6;

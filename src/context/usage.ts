/**
 * Computes what a model call cost from a table of prices. An unknown cost is undefined, never zero or a guess (CTX-9).
 */
import { costAt, findPrice } from "../core/data/price.js";
import type { PriceTable, UsageService } from "../ports/services.js";

export function createUsageService(prices: PriceTable): UsageService {
  return {
    isPriced: (modelId) => findPrice(prices, modelId) !== undefined,
    costOf: (modelId, usage) => costAt(prices, modelId, usage),
  };
}

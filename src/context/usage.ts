/**
 * Computes the cost of a model call from a price table. An unknown cost is undefined, never zero or a guess (CTX-9).
 */
import { costAt, findPrice } from "../core/data/price.js";
import type { PriceTable, UsageService } from "../ports/services.js";

export function createUsageService(prices: PriceTable): UsageService {
  return {
    isPriced: (modelId) => findPrice(prices, modelId) !== undefined,
    costOf: (modelId, usage) => costAt(prices, modelId, usage),
  };
}

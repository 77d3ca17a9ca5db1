/**
 * Model prices, and the cost of a model call.
 */
import type { Usage } from "./message.js";
import { withoutDate } from "./model-id.js";

/** US dollars per million tokens. */
export type Rates = {
  /** Input that was neither read from a cache nor written to it. */
  readonly input: number;
  /** Output. */
  readonly output: number;
  /** Input that was read from the provider's cache. Default: the rate of `input`. */
  readonly cacheRead?: number;
  /** Input that was written to the provider's cache. Default: the rate of `input`. */
  readonly cacheWrite?: number;
  /** Input that the provider keeps in its cache for an hour. Default: 1.6 times the rate of `cacheWrite`, as with Claude. */
  readonly cacheWrite1h?: number;
};

/** If a request has more input tokens than `long.over`, the rates of `long` apply to all of its tokens. */
export type Price = Rates & {
  /** The rates for long requests. */
  readonly long?: Rates & {
    /** These rates apply above this number of input tokens. */
    readonly over: number;
  };
};

/** Prices by model id: `provider/model`. A dated id (`…-20260922`) falls back to the id without its date. */
export type PriceTable = { readonly [modelId: string]: Price };

/** The cost of a model call in US dollars. An unknown cost is undefined, never zero or a guess (CTX-9). */
export function costAt(prices: PriceTable, modelId: string, usage: Usage): number | undefined {
  const price = findPrice(prices, modelId);
  const { inputTokens, outputTokens, cacheReadTokens = 0, cacheWriteTokens = 0, cacheWrite1hTokens = 0 } = usage;
  if (price === undefined || inputTokens === undefined || outputTokens === undefined) return undefined;
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

export function findPrice(prices: PriceTable, modelId: string): Price | undefined {
  if (Object.hasOwn(prices, modelId)) return prices[modelId];
  const undated = withoutDate(modelId);
  return Object.hasOwn(prices, undated) ? prices[undated] : undefined;
}

/** Anthropic's ratio: a cache write costs 1.25 times plain input for 5 minutes, and twice plain input for an hour. */
const oneHourFactor = 1.6;

/**
 * List prices of models, with the date and the source of each list. Prices change: an author can replace any price.
 *
 * The lists in this file are maintained by hand, from the providers' own pages. They take precedence over the generated
 * table, which has many more models.
 *
 * Prices are for standard service and text, in US dollars per million tokens. Batches, priority, regions and searches
 * are not included. An unlisted model has no price, which is not zero.
 */
import { deepFreeze } from "../../core/data/freeze.js";
import type { Price, PriceTable, Rates } from "../../ports/services.js";
import { asOf, generatedPrices, source } from "./prices.generated.js";

/** The prices of a provider, and their source. */
export type PriceList = {
  /** The provider. */
  readonly provider: string;
  /** The date on which the source was read: `YYYY-MM-DD`. */
  readonly asOf: string;
  /** The page that lists the prices. */
  readonly source: string;
  /** The prices, by model. */
  readonly prices: PriceTable;
};

const opus: Price = { input: 5, output: 25, cacheRead: 0.5, cacheWrite: 6.25 };
const sonnet4: Price = { input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75 };

const anthropic: PriceList = {
  provider: "anthropic",
  asOf: "2026-10-24",
  source: "https://platform.claude.com/docs/en/about-claude/pricing",
  prices: {
    "anthropic/claude-fable-5-1": { input: 10, output: 50, cacheRead: 0.25, cacheWrite: 12.5 },
    "anthropic/claude-opus-5-5": { input: 4, output: 20, cacheRead: 0.2, cacheWrite: 5 },
    "anthropic/claude-opus-5": opus,
    "anthropic/claude-opus-4-8": opus,
    "anthropic/claude-opus-4-7": opus,
    "anthropic/claude-opus-4-6": opus,
    "anthropic/claude-opus-4-5": opus,
    "anthropic/claude-sonnet-5-5": { input: 2, output: 10, cacheRead: 0.1, cacheWrite: 2.5 },
    "anthropic/claude-sonnet-5": { input: 2, output: 10, cacheRead: 0.2, cacheWrite: 2.5 },
    "anthropic/claude-sonnet-4-6": sonnet4,
    "anthropic/claude-haiku-5-5": {
      input: 0.1,
      output: 0.5,
      cacheRead: 0.01,
      cacheWrite: 0.125,
      long: { over: 100_000, input: 0.5, output: 2.5, cacheRead: 0.05, cacheWrite: 0.625 },
    },
    "anthropic/claude-haiku-4-5": { input: 1, output: 5, cacheRead: 0.1, cacheWrite: 1.25 },
  },
};

/** Above 272,000 input tokens, input costs twice as much, and output one and a half times as much. */
function withLongContext(rates: Required<Omit<Rates, "cacheWrite1h">>): Price {
  const { input, output, cacheRead, cacheWrite } = rates;
  const long = { input: 2 * input, output: 1.5 * output, cacheRead: 2 * cacheRead, cacheWrite: 2 * cacheWrite };
  return { ...rates, long: { over: 272_000, ...long } };
}

const openai: PriceList = {
  provider: "openai",
  asOf: "2026-10-16",
  source: "https://developers.openai.com/api/docs/pricing",
  prices: {
    "openai/gpt-6-astra": withLongContext({ input: 10, output: 50, cacheRead: 1, cacheWrite: 12.5 }),
    "openai/gpt-6-sol": withLongContext({ input: 2, output: 10, cacheRead: 0.2, cacheWrite: 2.5 }),
    "openai/gpt-6-luna": withLongContext({ input: 0.1, output: 0.5, cacheRead: 0.01, cacheWrite: 0.125 }),
    "openai/gpt-4o-mini": { input: 0.15, output: 0.6, cacheRead: 0.075 },
  },
};

const google: PriceList = {
  provider: "google",
  asOf: "2026-10-07",
  source: "https://ai.google.dev/gemini-api/docs/pricing",
  prices: {
    "google/gemini-3.5-flash": { input: 1.5, output: 9, cacheRead: 0.15 },
    "google/gemini-3.1-pro-preview": {
      input: 2,
      output: 12,
      cacheRead: 0.2,
      long: { over: 200_000, input: 4, output: 18, cacheRead: 0.4 },
    },
    "google/gemini-2.5-pro": {
      input: 1.25,
      output: 10,
      cacheRead: 0.125,
      long: { over: 200_000, input: 2.5, output: 15, cacheRead: 0.25 },
    },
    "google/gemini-2.5-flash": { input: 0.3, output: 2.5, cacheRead: 0.03 },
    "google/gemini-2.5-flash-lite": { input: 0.1, output: 0.4, cacheRead: 0.01 },
  },
};

const demoPrices: PriceList = {
  provider: "demo",
  asOf: "2026-11-22",
  source: "The demo model runs in this process and calls no provider.",
  prices: { demo: { input: 0, output: 0 } },
};

/** The lists that are maintained by hand. */
export const curatedPriceLists: readonly PriceList[] = [anthropic, openai, google, demoPrices];

/** Groups the generated table by provider: one list for each. */
function groupGeneratedPrices(): readonly PriceList[] {
  const byProvider = new Map<string, { [modelId: string]: Price }>();
  for (const [id, price] of Object.entries(generatedPrices)) {
    const provider = id.slice(0, id.indexOf("/"));
    const prices = byProvider.get(provider) ?? {};
    prices[id] = price;
    byProvider.set(provider, prices);
  }
  return [...byProvider].map(([provider, prices]) => ({ provider, asOf, source, prices }));
}

/** The lists that `listPrices` combines. A later list replaces prices of an earlier one. */
export const priceLists: readonly PriceList[] = deepFreeze([...groupGeneratedPrices(), ...curatedPriceLists]);

/** The default prices of an agent. To add your own: `usage: { prices: { ...listPrices, "own/model": { … } } }`. */
export const listPrices: PriceTable = deepFreeze(Object.assign({}, ...priceLists.map((list) => list.prices)));

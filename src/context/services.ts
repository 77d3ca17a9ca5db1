/**
 * The services of an agent: what was given, what it takes by itself, and what is turned off.
 */

import type { Usage } from "../core/data/message.js";
import { PawlError } from "../errors.js";
import type { OutputService, PriceTable, Services, UsageService } from "../ports/services.js";
import type { Store } from "../ports/store.js";
import type { TokenEstimator, Tokenizer } from "../ports/tokens.js";
import type { AnyTool } from "../ports/tool.js";
import { type CompactionOptions, compactionServiceOf } from "./compaction-options.js";
import { createTokenEstimator } from "./tokens.js";
import { capOutput, defaultMaxOutputBytes } from "./tool-output.js";
import { createUsageService } from "./usage.js";
import { wholeOutput } from "./whole-output.js";

export type ToolOutputOptions = {
  /** Bytes of one output that a model is shown; 51,200. A tool's own `maxOutputBytes` goes before it. */
  readonly maxBytes?: number;
  /**
   * Bytes of all outputs that a model is shown: above it the oldest are left out, down to half of it, each with a note of how to
   * read it. Off unless set: it changes what a provider has in its cache.
   */
  readonly maxTotalBytes?: number;
};

export type ServiceOptions = {
  /**
   * Accounting: what a run cost, by these prices or by the list prices of `pawl/models`. Null turns it off: tokens are still
   * counted, as providers tell them, and a cost is not.
   */
  readonly usage?: { readonly prices?: PriceTable } | null;
  /** How large outputs of tools are cut for the model; null leaves them whole, up to what an entry of the log can hold. */
  readonly toolOutput?: ToolOutputOptions | null;
  /** What counts the tokens of texts. An estimate does, unless given: docs/guide/tokens.md has its error. */
  readonly tokens?: Tokenizer;
  /** Replaces services, and adds your own: tools see them as `context.services`. */
  readonly services?: Partial<Services>;
};

/** @throws PawlError `bad_configuration` */
export function compileServices(
  options: ServiceOptions & { readonly compaction?: CompactionOptions<unknown> | null },
  listPrices: PriceTable,
  store: Store,
): Services {
  const { usage, toolOutput, tokens, services = {} } = options;
  return {
    ...services,
    usage: services.usage ?? usageOf(usage, listPrices),
    output: services.output ?? outputOf(toolOutput, store),
    compaction: services.compaction ?? compactionServiceOf(options.compaction),
    tokens: services.tokens ?? tokensOf(tokens),
  };
}

/** For who speaks to a session without its agent. */
export function servicesOf(store: Store): Services {
  return { usage: null, output: outputOf(undefined, store), compaction: null, tokens: createTokenEstimator() };
}

function tokensOf(tokenizer: Tokenizer | undefined): TokenEstimator {
  if (tokenizer === undefined || typeof tokenizer?.count === "function") return createTokenEstimator(tokenizer);
  throw new PawlError("bad_configuration", "tokens has no function count(text). Give one, or leave tokens out.");
}

function usageOf(usage: ServiceOptions["usage"], listPrices: PriceTable): UsageService | null {
  if (usage === null) return null;
  const prices = usage?.prices ?? listPrices;
  for (const [modelId, { long, ...price }] of Object.entries(prices))
    for (const rate of [...Object.values(price), ...Object.values(long ?? {})])
      if (!Number.isFinite(rate) || rate < 0)
        throw new PawlError(
          "bad_configuration",
          `The price of ${modelId} has a rate of ${String(rate)}; it must be dollars for a million tokens, 0 or more. Leave a model out where its price is not known.`,
        );
  return createUsageService(prices);
}

function outputOf(toolOutput: ServiceOptions["toolOutput"], store: Store): OutputService | null {
  if (toolOutput === null) return null;
  const { maxBytes: own, maxTotalBytes } = toolOutput ?? {};
  for (const [name, value] of Object.entries({ maxBytes: own, maxTotalBytes }))
    if (value !== undefined && !(Number.isSafeInteger(value) && value >= 1))
      throw new PawlError(
        "bad_configuration",
        `toolOutput.${name} is ${String(value)}; it must be a whole number of bytes, 1 or more.`,
      );
  return {
    ...(maxTotalBytes === undefined ? {} : { maxTotalBytes }),
    cap(output, { sessionId, maxBytes = own }) {
      return capOutput(output, { sessionId, store, ...(maxBytes === undefined ? {} : { maxBytes }) });
    },
    read: (sessionId, output) => wholeOutput(store, sessionId, output),
  };
}

/**
 * The tools for the rest of what was cut: where outputs are cut at all. They are there from the start, and last: specifications stand
 * before everything else in a request, and one that came later would cost the provider's cache of the whole conversation.
 */
export function outputToolsOf(
  { toolOutput }: ServiceOptions,
  { output }: Services,
  make: (maxBytes: number) => readonly AnyTool[],
): readonly AnyTool[] {
  return output?.read === undefined ? [] : make(toolOutput?.maxBytes ?? defaultMaxOutputBytes);
}

/** A usage with its cost, where that is known. A provider that tells its cost is believed. */
export function withCost(usage: Usage, modelId: string, { usage: service }: Services): Usage {
  if (service === null || usage.costUsd !== undefined) return usage;
  const costUsd = knownCost(usage, modelId, service);
  return costUsd === undefined ? usage : { ...usage, costUsd };
}

function knownCost(usage: Usage, modelId: string, service: UsageService): number | undefined {
  try {
    const cost = service.costOf(modelId, usage);
    return cost !== undefined && Number.isFinite(cost) && cost >= 0 ? cost : undefined;
  } catch {
    return undefined;
  }
}

/**
 * The services of an agent. Each is the author's own, the built-in one, or null if it is turned off.
 */

import { anyValue, checkOptions, integerFrom, type OptionTable } from "../check-options.js";
import { deepFreeze } from "../core/data/freeze.js";
import type { Usage } from "../core/data/message.js";
import { roundCost } from "../core/data/usage.js";
import { PawlError } from "../errors.js";
import type { Model } from "../ports/model.js";
import type { OutputService, PriceTable, Services, UsageService } from "../ports/services.js";
import type { Store } from "../ports/store.js";
import type { TokenEstimator, Tokenizer } from "../ports/tokens.js";
import type { AnyTool } from "../ports/tool.js";
import { type CompactionOptions, compileCompactionService } from "./compaction-options.js";
import { createTokenEstimator } from "./tokens.js";
import { capOutput, defaultMaxOutputBytes } from "./tool-output.js";
import { createUsageService } from "./usage.js";
import { readWholeOutput } from "./whole-output.js";

/** How much of tool outputs a model is shown. */
export type ToolOutputOptions = {
  /**
   * The maximum size of one output that a model is shown, in bytes. A tool's own `maxOutputBytes` takes precedence.
   * Default: 51,200.
   */
  readonly maxBytes?: number;
  /**
   * The maximum total size of the outputs that a model is shown, in bytes. Above it, the oldest outputs are omitted until half of this size
   * remains, and each is replaced by a note about how to read it. Default: no limit, because omitting outputs invalidates the provider's
   * prompt cache.
   */
  readonly maxTotalBytes?: number;
};

/** The options of an agent that replace or turn off its services. */
export type ServiceOptions = {
  /**
   * Computes the cost of a run from these prices. Default: the list prices of `pawl/models`. If null, Pawl computes no cost, but still
   * records the tokens that providers report.
   */
  readonly usage?: {
    /** Prices by model id. */
    readonly prices?: PriceTable;
  } | null;
  /**
   * The size limits at which tool outputs are truncated for the model. If null, outputs are not truncated, up to the limit of a log entry.
   */
  readonly toolOutput?: ToolOutputOptions | null;
  /** Counts the tokens of strings. Default: an estimate, whose error is listed in docs/guide/tokens.md. */
  readonly tokens?: Tokenizer;
  /** Replaces built-in services, and adds your own. Tools see all of them as `context.services`. */
  readonly services?: Partial<Services>;
};

/** @throws PawlError `bad_configuration` */
export function compileServices(
  options: ServiceOptions & { readonly compaction?: CompactionOptions<unknown> | null },
  listPrices: PriceTable,
  store: Store,
  models: readonly Pick<Model, "id" | "price">[],
): Services {
  const { usage, toolOutput, tokens, services = {} } = options;
  // Frozen, because tools see this object.
  return Object.freeze({
    ...services,
    usage: services.usage ?? resolveUsageService(usage, listPrices, models),
    output: services.output ?? createOutputService(toolOutput, store),
    compaction: services.compaction ?? compileCompactionService(options.compaction),
    tokens: services.tokens ?? resolveTokenEstimator(tokens),
  });
}

/** The services of a client, which accesses a session without its agent. */
export function createClientServices(store: Store): Services {
  return {
    usage: null,
    output: createOutputService(undefined, store),
    compaction: null,
    tokens: createTokenEstimator(),
  };
}

function resolveTokenEstimator(tokenizer: Tokenizer | undefined): TokenEstimator {
  if (tokenizer === undefined || typeof tokenizer?.count === "function") return createTokenEstimator(tokenizer);
  throw new PawlError("bad_configuration", "tokens has no function count(text). Add it, or leave tokens out.");
}

function resolveUsageService(
  usage: ServiceOptions["usage"],
  listPrices: PriceTable,
  models: readonly Pick<Model, "id" | "price">[],
): UsageService | null {
  if (usage === null) return null;
  checkOptions("usage", usageRules, usage ?? {});
  const own = Object.fromEntries(models.flatMap(({ id, price }) => (price === undefined ? [] : [[id, price]])));
  for (const [modelId, { long, ...price }] of Object.entries({ ...own, ...usage?.prices }))
    for (const rate of [...Object.values(price), ...Object.values(long ?? {})])
      if (!Number.isFinite(rate) || rate < 0)
        throw new PawlError(
          "bad_configuration",
          `The price of ${modelId} has the rate ${String(rate)}; a rate must be US dollars per million tokens, 0 or more. If the price is not known, leave the model out.`,
        );
  // The list prices are frozen, and a copy of a thousand of them for each agent would be most of what creating one costs.
  const isListed = Object.keys(own).length === 0 && usage?.prices === undefined;
  return createUsageService(isListed ? listPrices : { ...own, ...(usage?.prices ?? listPrices) });
}

const usageRules: OptionTable<NonNullable<ServiceOptions["usage"]>> = { prices: anyValue };

const toolOutputRules: OptionTable<ToolOutputOptions> = {
  maxBytes: integerFrom(1, "bytes"),
  maxTotalBytes: integerFrom(1, "bytes"),
};

function createOutputService(toolOutput: ServiceOptions["toolOutput"], store: Store): OutputService | null {
  if (toolOutput === null) return null;
  checkOptions("toolOutput", toolOutputRules, toolOutput ?? {});
  const { maxBytes: defaultMaxBytes, maxTotalBytes } = toolOutput ?? {};
  return {
    ...(maxTotalBytes === undefined ? {} : { maxTotalBytes }),
    cap(output, { sessionId, maxBytes = defaultMaxBytes }) {
      return capOutput(output, { sessionId, store, ...(maxBytes === undefined ? {} : { maxBytes }) });
    },
    read: (sessionId, output) => readWholeOutput(store, sessionId, output),
  };
}

/**
 * The tools that read the rest of a truncated output, if outputs are truncated. They are last in the agent's list, and a model is offered
 * them once it sees a truncated output.
 */
export function createOutputTools(
  { toolOutput }: ServiceOptions,
  { output }: Services,
  createTools: (maxBytes: number) => readonly AnyTool[],
): readonly AnyTool[] {
  return output?.read === undefined ? [] : createTools(toolOutput?.maxBytes ?? defaultMaxOutputBytes);
}

/** Adds the cost to a usage, if it is known. A cost that the provider reports takes precedence. */
export function addCost(usage: Usage, modelId: string, { usage: service }: Services): Usage {
  if (service === null || usage.costUsd !== undefined) return roundCost(usage);
  const costUsd = computeCost(usage, modelId, service);
  return costUsd === undefined ? usage : roundCost({ ...usage, costUsd });
}

function computeCost(usage: Usage, modelId: string, service: UsageService): number | undefined {
  try {
    const cost = service.costOf(modelId, deepFreeze(usage));
    return cost !== undefined && Number.isFinite(cost) && cost >= 0 ? cost : undefined;
  } catch {
    return undefined;
  }
}

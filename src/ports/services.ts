/**
 * Services: what an agent counts, prices and cuts with. Each may be replaced, or turned off; tools see them as `context.services`.
 */
import type { ToolOutput, Usage } from "../core/data/message.js";
import type { CompactionService } from "./compaction.js";
import type { TokenEstimator } from "./tokens.js";

/** US dollars for a million tokens. */
export type Rates = {
  readonly input: number;
  readonly output: number;
  /** Input that came from the provider's cache; the price of input unless given. */
  readonly cacheRead?: number;
  /** Input that was written to the provider's cache; the price of input unless given. */
  readonly cacheWrite?: number;
};

/** `long` stands for the whole of a request with more input tokens than `over`. */
export type Price = Rates & { readonly long?: Rates & { readonly over: number } };

/** Prices by the id of the model: `provider/model`. A dated id (`…-20260922`) falls back to the one without its date. */
export type PriceTable = { readonly [modelId: string]: Price };

export type UsageService = {
  /** Whether the model has a price. A run with `maxCostUsd` needs one. */
  readonly isPriced: (modelId: string) => boolean;
  /** What a call cost, US dollars; undefined where that cannot be known. What throws counts as unknown. */
  readonly costOf: (modelId: string, usage: Usage) => number | undefined;
};

/** An output as it was before it was cut. */
export type WholeOutput = {
  readonly bytes: Uint8Array;
  /** Of a file; null where the bytes are a text, in UTF-8. */
  readonly mediaType: string | null;
};

export type OutputService = {
  /**
   * A tool's output as the model is shown it and as the log keeps it.
   * @param options.maxBytes what the tool asks for
   */
  readonly cap: (
    output: ToolOutput,
    options: { readonly sessionId: string; readonly maxBytes?: number },
  ) => ToolOutput | Promise<ToolOutput>;
  /** Bytes of results that a model is shown in all: above it the oldest are left out. None unless given. */
  readonly maxTotalBytes?: number;
  /**
   * The whole of an output, by the number of its entry in the session's log; null where there is none.
   * Models get at it with `read_output` and `search_output`, which an agent has where this is given.
   */
  readonly read?: (sessionId: string, output: number) => Promise<WholeOutput | null>;
};

/** What tools see as `context.services`: null where one is turned off, and whatever else the agent was given. */
export type Services = {
  readonly usage: UsageService | null;
  readonly output: OutputService | null;
  readonly compaction: CompactionService | null;
  readonly tokens: TokenEstimator;
  readonly [name: string]: unknown;
};

/**
 * The services port: how an agent counts tokens, computes costs, cuts outputs and compacts. An author can replace each
 * service. Tools see them as `context.services`.
 */
import type { ToolOutput, Usage } from "../core/data/message.js";
import type { CompactionService } from "./compaction.js";
import type { TokenEstimator } from "./tokens.js";

export type { Price, PriceTable, Rates } from "../core/data/price.js";

/** Computes the cost of model calls. */
export type UsageService = {
  /** Whether the model has a price. A run with `maxCostUsd` needs a priced model. */
  readonly isPriced: (modelId: string) => boolean;
  /** The cost of a call in US dollars; undefined if it is not known. If it throws, the cost is also unknown. */
  readonly costOf: (modelId: string, usage: Usage) => number | undefined;
};

/** A tool's output before it was cut. */
export type WholeOutput = {
  /** The whole output. */
  readonly bytes: Uint8Array;
  /** The media type of a file; null if the bytes are text in UTF-8. */
  readonly mediaType: string | null;
};

/** Cuts large outputs of tools. */
export type OutputService = {
  /**
   * Returns a tool's output in the form that the model is shown and the log stores. It has failed if it takes more than
   * 60 s; the call then has an error result.
   * @param options.maxBytes the tool's own `maxOutputBytes`
   */
  readonly cap: (
    output: ToolOutput,
    options: {
      readonly sessionId: string;
      /** The tool's own `maxOutputBytes`. */
      readonly maxBytes?: number;
    },
  ) => ToolOutput | Promise<ToolOutput>;
  /**
   * The maximum size of all results together that a model is shown, in bytes: above it, the oldest are omitted. Default: no
   * limit.
   */
  readonly maxTotalBytes?: number;
  /**
   * Reads a whole output by the number of its entry in the session's log; null if there is none.
   * If this function is given, the agent has the tools `read_output` and `search_output`.
   */
  readonly read?: (sessionId: string, output: number) => Promise<WholeOutput | null>;
};

/**
 * `context.services` of a tool. A service that is turned off is null. Other names are the author's and plugins' own.
 */
export type Services = {
  readonly usage: UsageService | null;
  /** Cuts large outputs of tools. */
  readonly output: OutputService | null;
  /** Compacts conversations. */
  readonly compaction: CompactionService | null;
  /** Counts tokens. */
  readonly tokens: TokenEstimator;
  readonly [name: string]: unknown;
};

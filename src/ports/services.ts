/**
 * The services port: how an agent counts tokens, computes costs, cuts outputs and compacts. An author can replace each service. Tools see
 * the services as `context.services`.
 */
import type { ToolOutput, Usage } from "../core/data/message.js";
import type { CompactionService } from "./compaction.js";
import type { TokenEstimator } from "./tokens.js";

export type { Price, PriceTable, Rates } from "../core/data/price.js";

/** Computes the cost of model calls. */
export type UsageService = {
  /** Whether the model has a price. A run with `maxCostUsd` requires a model with a price. */
  readonly isPriced: (modelId: string) => boolean;
  /** The cost of a call in US dollars; undefined if it is unknown. If the function throws, the cost is also unknown. */
  readonly costOf: (modelId: string, usage: Usage) => number | undefined;
};

/** A tool's output before it was cut. */
export type WholeOutput = {
  /** The whole output. */
  readonly bytes: Uint8Array;
  /** The media type of a file; null if the bytes are UTF-8 text. */
  readonly mediaType: string | null;
};

/** Cuts large tool outputs. */
export type OutputService = {
  /**
   * Returns a tool's output in the form that the model is shown and the log stores. Counts as failed after 60 s; the call then gets an
   * error result.
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
  /** The maximum total size of the results that a model is shown, in bytes. Above it, the oldest are omitted. Default: no limit. */
  readonly maxTotalBytes?: number;
  /**
   * Reads a whole output by the number of its entry in the session's log; null if there is none. If this function is provided, the agent
   * has the tools `read_output` and `search_output`.
   */
  readonly read?: (sessionId: string, output: number) => Promise<WholeOutput | null>;
};

/** The type of a tool's `context.services`. A service that is turned off is null. Other names belong to authors and plugins. */
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

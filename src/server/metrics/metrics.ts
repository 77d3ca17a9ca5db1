/**
 * `createMetrics`: what the agents of a process do, as Prometheus reads it.
 */
import type { Observer } from "../../index.js";
import { checkOptionNames, createConfigurationError } from "../option-checks.js";
import { type Backlog, formatBacklog } from "./backlog.js";
import { createMetricRegistry } from "./registry.js";
import { createRunObserver } from "./run-metrics.js";

/** Figures of the agents of a process, counted since it began. */
export type Metrics = {
  /**
   * Counts what an agent does, and the agents behind its tools: `createAgent({ observers: [metrics.observer] })`. All
   * agents of a process may have it.
   */
  readonly observer: Observer;
  /** The figures in the text format of Prometheus (0.0.4), with those of the store and the worker that are given. */
  readonly text: (backlog?: Backlog) => Promise<string>;
};

const backlogNames: ReadonlySet<string> = new Set(["store", "worker"] satisfies (keyof Backlog)[]);

/**
 * Creates the figures of a process: runs, steps, tokens, cost, tool calls, failures and durations, by agent and model.
 *
 * @example
 * ```ts
 * import { createAgent } from "pawl";
 * import { createMetrics, createServer, createToken } from "pawl/server";
 *
 * const metrics = createMetrics();
 * const token = process.env.PAWL_TOKEN ?? createToken();
 * const agent = createAgent({ name: "support", model, tools, store, observers: [metrics.observer] });
 * const server = createServer({ store, agents: [agent], token, metrics }); // GET /metrics
 * ```
 */
export function createMetrics(): Metrics {
  const registry = createMetricRegistry();
  return Object.freeze({
    observer: Object.freeze(createRunObserver(registry)),
    async text(backlog: Backlog = {}) {
      checkOptionNames("text()", backlog, backlogNames);
      return registry.text() + (await formatBacklog(backlog));
    },
  });
}

/** @throws PawlError `bad_configuration` */
export function checkMetrics(metrics: Metrics | undefined): Metrics | null {
  if (metrics === undefined) return null;
  if (typeof metrics?.text === "function" && typeof metrics.observer === "object") return metrics;
  throw createConfigurationError("metrics is what createMetrics() returns.");
}

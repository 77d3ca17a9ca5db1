/**
 * `createMetrics`: Prometheus metrics about the agents of a process.
 */
import type { Observer } from "../../index.js";
import { checkOptionNames, createConfigurationError } from "../option-checks.js";
import { type Backlog, formatBacklog } from "./backlog.js";
import { createMetricRegistry } from "./registry.js";
import { createRunObserver } from "./run-metrics.js";

/** Metrics about the agents of a process, since it started. */
export type Metrics = {
  /**
   * Observes an agent and the agents that its tools call: `createAgent({ observers: [metrics.observer] })`. All agents of a process
   * may share the observer.
   */
  readonly observer: Observer;
  /** Formats the metrics in Prometheus's text format (0.0.4), including those of the given store and worker. */
  readonly text: (backlog?: Backlog) => Promise<string>;
};

const backlogNames: ReadonlySet<string> = new Set(["store", "worker"] satisfies (keyof Backlog)[]);

/**
 * Creates the metrics of a process: runs, steps, tokens, cost, tool calls, failures and durations, by agent and model.
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
  throw createConfigurationError("metrics must be the return value of createMetrics().");
}

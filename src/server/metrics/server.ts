/**
 * `createMetricsServer`: serves the metrics of a process without another server.
 */
import type { Store, Worker } from "../../index.js";
import { createServerContext } from "../create-context.js";
import { createHandlers } from "../handle.js";
import type { Handlers } from "../handler-types.js";
import { checkOptionNames, createConfigurationError } from "../option-checks.js";
import type { Route } from "../route.js";
import { systemRoutes } from "../routes/system.js";
import type { ServerOptions } from "../server-options.js";
import { resolveSettings } from "../server-settings.js";
import type { Metrics } from "./metrics.js";

const monitoringRoutes: readonly Route[] = Object.freeze(
  systemRoutes.filter(({ action }) => action === "health" || action === "ready" || action === "metrics"),
);

/** The options of a metrics server. */
export type MetricsServerOptions = Pick<ServerOptions, "token" | "authenticate" | "hosts" | "log"> & {
  /** The store whose backlog is shown. */
  readonly store: Store;
  /** The worker of this process. */
  readonly worker?: Pick<Worker, "status">;
  /** The metrics of the agents. `metrics.observer` must be among their observers. */
  readonly metrics: Metrics;
};

const optionNames = [
  "token",
  "authenticate",
  "hosts",
  "log",
  "store",
  "worker",
  "metrics",
] as const satisfies readonly (keyof MetricsServerOptions)[];

/**
 * Creates a server for a process without one, such as a worker. It serves `GET /metrics` to anyone with the token or a principal with
 * the scope `admin`, and `GET /health` and `GET /ready` without authentication.
 * @throws PawlError `bad_configuration`
 *
 * @example
 * ```ts
 * import { createServer as createHttpServer } from "node:http";
 * import { createWorker } from "pawl";
 * import { createMetrics, createMetricsServer, createToken } from "pawl/server";
 *
 * const metrics = createMetrics(); // the agent has metrics.observer among its observers
 * const worker = createWorker({ store, agents: [agent] });
 * const token = process.env.PAWL_TOKEN ?? createToken();
 * const server = createMetricsServer({ store, worker, metrics, token });
 * createHttpServer(server.httpOptions, server.listener).listen(9464, "127.0.0.1");
 * await worker.run();
 * ```
 */
export function createMetricsServer(options: MetricsServerOptions): Handlers {
  checkOptionNames("createMetricsServer()", options, new Set(optionNames));
  const { worker = null, ...rest } = options;
  const settings = resolveSettings({ ...rest, agents: [], work: false });
  if (settings.metrics === null)
    throw createConfigurationError("createMetricsServer() needs the option metrics: pass createMetrics().");
  const context = createServerContext(settings, monitoringRoutes, worker, () => false);
  return createHandlers(context, monitoringRoutes, (response) => response);
}

/**
 * `createServer`: the sessions of a store over HTTP, as a Web `fetch` handler and as a Node listener.
 *
 * 1. The log is the source of truth: everything that a client must not lose is in the store, so any process can be killed and replaced.
 * 2. A connection is never a run. Closing a connection does not end a run; only an abort does.
 * 3. Before anything is read or written, the server checks host and origin, then the principal, then its scope, then `may`.
 */
import { createWorker, type Worker, type WorkerReport } from "../index.js";
import { checkPrincipal } from "./authenticate.js";
import { createServerContext } from "./create-context.js";
import { createHandlers } from "./handle.js";
import type { Handlers } from "./handler-types.js";
import { createFailureLine } from "./log-line.js";
import { createPendingResponses } from "./open-calls.js";
import { createConfigurationError } from "./option-checks.js";
import { liveRoute } from "./peers/live-route.js";
import { type Principal, tokenPrincipal } from "./principal.js";
import { registerNotices } from "./register-notices.js";
import type { Route } from "./route.js";
import { a2aRoutes } from "./routes/a2a.js";
import { approvalRoutes } from "./routes/approvals.js";
import { chatRoutes } from "./routes/chats.js";
import { evalRoutes } from "./routes/evals.js";
import { inspectingRoutes } from "./routes/inspecting.js";
import { inspectorRoutes } from "./routes/inspector.js";
import { labelRoutes } from "./routes/labels.js";
import { listStreamRoutes } from "./routes/list-stream.js";
import { mcpRoutes } from "./routes/mcp.js";
import { oauthRoutes } from "./routes/oauth.js";
import { pageRoutes } from "./routes/pages.js";
import { pushRoutes } from "./routes/push.js";
import { runRoutes } from "./routes/runs.js";
import { scheduleRoutes } from "./routes/schedules.js";
import { sessionRoutes } from "./routes/sessions.js";
import { signalRoutes } from "./routes/signals.js";
import { systemRoutes } from "./routes/system.js";
import { watchingRoutes } from "./routes/watching.js";
import { createWebhookRoutes } from "./routes/webhooks.js";
import type { ServerOptions } from "./server-options.js";
import { resolveSettings, type ServerSettings } from "./server-settings.js";
import { logFailure } from "./work-log.js";

/** Serves sessions over HTTP. */
export type Server = Handlers & {
  /**
   * Creates a code for the fragment of a link, which lets one browser page act as a principal. It is valid once, for ten
   * minutes, in this process. The page posts it to `/v1/ui/session`. Default: the principal of the token.
   * @throws PawlError `bad_configuration` without a principal, if the server has no token
   */
  readonly createStartCode: (principal?: Principal) => string;
  /** The names of the agents whose runs this process drives. */
  readonly agents: readonly string[];
  /**
   * Drains the server: requests that change something are rejected, clients of streams are told to reconnect, and active runs have
   * `graceMs` (milliseconds, default: 5,000) to settle. No run is lost: unfinished ones are due for another process. The agents
   * stay shut down, and the store stays open.
   */
  readonly close: (options?: { readonly graceMs?: number }) => Promise<void>;
};

const routes: readonly Route[] = Object.freeze([
  ...systemRoutes,
  ...sessionRoutes,
  ...runRoutes,
  ...watchingRoutes,
  ...listStreamRoutes,
  ...approvalRoutes,
  ...inspectingRoutes,
  ...labelRoutes,
  ...scheduleRoutes,
  ...signalRoutes,
  ...pushRoutes,
  ...evalRoutes,
  ...chatRoutes,
  ...mcpRoutes,
  ...a2aRoutes,
  ...oauthRoutes,
  ...pageRoutes,
  liveRoute,
]);

/** Clients of ended streams reconnect spread over this time, in milliseconds, so that they do not all reconnect at once. */
const drainSpreadMs = 2_000;

/**
 * Creates a server.
 * @throws PawlError `bad_configuration`
 *
 * @example
 * ```ts
 * import { createServer as createHttpServer } from "node:http";
 * import { createServer } from "pawl/server";
 *
 * const server = createServer({ store, agents: [agent], token: secret });
 * const http = createHttpServer(server.httpOptions, server.listener).listen(4111, "127.0.0.1");
 * process.once("SIGTERM", async () => {
 *   await server.close(); // clients of streams reconnect elsewhere, and active runs settle
 *   http.close();
 * });
 * ```
 */
export function createServer(options: ServerOptions): Server {
  const settings = resolveSettings(options);
  let closePromise: Promise<void> | null = null;
  // Created in any case, because the worker rejects agents with another store.
  const ownWorker = createServerWorker(settings);
  const worker = settings.work && settings.agents.length > 0 ? ownWorker : null;
  const context = createServerContext(settings, routes, worker, () => closePromise !== null);
  const workerRun = worker === null ? null : runWorker(worker, settings);
  const registration = worker === null ? registerNotices(settings) : null;

  const pendingResponses = createPendingResponses();

  async function close({ graceMs = 5_000 }: { readonly graceMs?: number } = {}): Promise<void> {
    context.streams.endAll("drain", drainSpreadMs);
    const callsDrained = context.openCalls.drainAll();
    await Promise.all([worker?.stop({ graceMs }), context.ticks.close(graceMs)]);
    await workerRun;
    await registration?.stop();
    context.peerStreams.endAll("drain", 0);
    context.loneRuns?.close();
    await callsDrained;
    // Earlier requests get their responses while the store is still open.
    await pendingResponses.whenSettled();
  }

  return {
    ...createHandlers(
      context,
      [...routes, ...createWebhookRoutes(settings.webhooks), ...(settings.ui ? inspectorRoutes : [])],
      pendingResponses.track,
    ),
    createStartCode(principal) {
      const actingPrincipal = principal ?? (options.token === undefined ? null : tokenPrincipal);
      if (actingPrincipal === null)
        throw createConfigurationError("createStartCode() needs a principal, because the server has no token.");
      checkPrincipal(actingPrincipal, "createStartCode() needs");
      return context.pageAccess.createCode(actingPrincipal);
    },
    agents: Object.freeze(worker === null ? [] : [...context.agents.keys()]),
    close(closeOptions) {
      closePromise ??= Promise.resolve().then(() => close(closeOptions));
      return closePromise;
    },
  };
}

/** If the store fails, the worker retries it. Meanwhile the server handles the requests that it can. */
function createServerWorker(settings: ServerSettings): Worker {
  const { store, agents, limits, worker } = settings;
  const onReport = (report: WorkerReport) => logFailure(settings, report);
  return createWorker({
    store,
    agents,
    concurrency: limits.runs,
    onReport,
    ...worker,
  });
}

async function runWorker(worker: Worker, { log }: ServerSettings): Promise<void> {
  try {
    await worker.run();
  } catch (error) {
    log(createFailureLine("work", error));
  }
}

/**
 * Creates the context that the routes of a server share.
 */
import { type Agent, createClient } from "../index.js";
import { createA2aHttp } from "../protocols/a2a/index.js";
import { createMcpHttp } from "../protocols/mcp-server/index.js";
import type { ListedSession } from "./client/index.js";
import { createReadingAgentFinder } from "./find-reading-agent.js";
import { createHubs } from "./hubs.js";
import { createKeys, proofPurpose } from "./keys.js";
import { createListWatch } from "./list-watch.js";
import { createFailureLine } from "./log-line.js";
import { createServerLoneRuns } from "./lone-runs.js";
import { createRequestMetrics } from "./metrics/request-metrics.js";
import { createOpenApiDocument } from "./open-api.js";
import { createOpenCalls } from "./open-calls.js";
import { createPageAccess } from "./page-access.js";
import { createLinks } from "./peers/links.js";
import type { Route } from "./route.js";
import { loadListedSession } from "./routes/sessions.js";
import { redactSecrets, type ServerContext } from "./server-context.js";
import type { ServerSettings } from "./server-settings.js";
import { loadSessionInfo } from "./session-info.js";
import { createOpenStreams } from "./streams.js";
import { createTicks } from "./tick.js";
import { createUsageLimits } from "./usage-limits.js";

/** @param documentedRoutes the routes in the OpenAPI document */
export function createServerContext(
  settings: ServerSettings,
  documentedRoutes: readonly Route[],
  worker: ServerContext["worker"],
  isDraining: () => boolean,
): ServerContext {
  const { store, limits, heartbeatMs, redact, peers, basePath } = settings;
  const client = createClient({ store });
  const keys = createKeys(settings.secret);
  const report = (error: unknown) => settings.log(createFailureLine("mcp", error));
  const agents = new Map(settings.agents.map((agent): [string, Agent] => [agent.options.name ?? "agent", agent]));
  const findReadingAgent = createReadingAgentFinder(store, agents);
  const links = createLinks({
    store,
    agents,
    findReadingAgent,
    hasWorker: worker !== null,
    peers,
    basePath,
    heartbeatMs,
    onUnreachable: (error, sessionId) => settings.log(createFailureLine("peer", error, { sessionId })),
  });
  const streamRules = { heartbeatMs, streamAgeMs: limits.streamAgeMs, now: Date.now };
  const loneRuns = createServerLoneRuns(settings, client, links);
  const listWatch = createListWatch({
    store,
    loadInfo: (summary) => loadSessionInfo(store, summary),
    loadListedSession: async (summary, info) =>
      redactSecrets({ settings }, await loadListedSession(store, summary, info)) as ListedSession,
  });
  return {
    settings,
    client,
    agents,
    findReadingAgent,
    listWatch,
    keys,
    pageAccess: createPageAccess(settings.pageAccess === "start" ? createKeys() : keys),
    proofKey: settings.hasSecret ? keys.sign(proofPurpose, "") : null,
    mcp: loadOnce(() => createMcpHttp(keys.deriveKey("mcp"), report)),
    a2a: loadOnce(createA2aHttp),
    worker,
    ticks: createTicks(settings, worker !== null),
    isDraining,
    requestMetrics: createRequestMetrics(),
    openApi: () => createOpenApiDocument(documentedRoutes, settings.basePath),
    links,
    loneRuns,
    hubs: createHubs({ links, loneRuns, store, client, findReadingAgent, redact }),
    streams: createOpenStreams(streamRules),
    peerStreams: createOpenStreams(streamRules),
    usage: createUsageLimits(settings),
    openCalls: createOpenCalls(),
    listModelIds: ({ options: { model } }) => ["id" in model ? model.id : `${model.provider}/${model.modelId}`],
  };
}

/** Loads on the first call. A failure is not cached, because the package may be installed later. */
function loadOnce<Loaded>(load: () => Promise<Loaded>): () => Promise<Loaded> {
  let loading: Promise<Loaded> | null = null;
  return () => {
    loading ??= load();
    loading.catch(() => {
      loading = null;
    });
    return loading;
  };
}

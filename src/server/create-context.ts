/**
 * Makes what the routes of one server share.
 */
import { type Agent, createClient } from "../index.js";
import { createMcpHttp, type McpHttp } from "../protocols/mcp-server/index.js";
import type { ListedSession } from "./client/index.js";
import { createHubs } from "./hubs.js";
import { createListWatch } from "./list-watch.js";
import { loneRunsOf } from "./lone-runs.js";
import { createRequestFigures } from "./metrics/requests.js";
import { openApi } from "./open-api.js";
import { createOpenCalls } from "./open-calls.js";
import { createPageAccess } from "./page-access.js";
import { createLinks } from "./peers/links.js";
import { createReadingAgent } from "./reading-agent.js";
import type { Route } from "./route.js";
import { inList } from "./routes/sessions.js";
import { createKeys, proofPurpose } from "./secret.js";
import { type ServerContext, shown } from "./server-context.js";
import { failureLine, type ServerSettings } from "./server-options.js";
import { sessionInfo } from "./session-info.js";
import { createOpenStreams } from "./streams.js";
import { createUsageLimits } from "./usage-limits.js";

/** @param described what the OpenAPI document has */
export function contextOf(
  settings: ServerSettings,
  described: readonly Route[],
  worker: ServerContext["worker"],
  isDraining: () => boolean,
): ServerContext {
  const { store, limits, heartbeatMs, redact, peers, basePath } = settings;
  const client = createClient({ store });
  const keys = createKeys(settings.secret);
  let mcp: Promise<McpHttp> | null = null;
  const report = (error: unknown) => settings.log(failureLine("mcp", error));
  const agents = new Map(settings.agents.map((agent): [string, Agent] => [agent.options.name ?? "agent", agent]));
  const agentFor = createReadingAgent(store, agents);
  const links = createLinks({ store, agentFor, works: worker !== null, peers, basePath, heartbeatMs });
  const streamRules = { heartbeatMs, streamAgeMs: limits.streamAgeMs, now: Date.now };
  const alone = loneRunsOf(settings, client, links);
  const list = createListWatch({
    store,
    infoOf: (summary) => sessionInfo(store, summary),
    listed: async (summary, info) => shown({ settings }, await inList(store, summary, info)) as ListedSession,
  });
  return {
    settings,
    client,
    agents,
    agentFor,
    list,
    keys,
    pages: createPageAccess(settings.pageAccess === "start" ? createKeys() : keys),
    proofKey: settings.hasSecret ? keys.sign(proofPurpose, "") : null,
    mcp() {
      mcp ??= createMcpHttp(keys.keyFor("mcp"), report);
      mcp.catch(() => {
        mcp = null;
      });
      return mcp;
    },
    worker,
    isDraining,
    requests: createRequestFigures(),
    openApi: () => openApi(described, settings.basePath),
    links,
    alone,
    hubs: createHubs({ links, alone, client, agentFor, redact }),
    streams: createOpenStreams(streamRules),
    peerStreams: createOpenStreams(streamRules),
    usage: createUsageLimits(settings),
    calls: createOpenCalls(),
    modelsOf: ({ options: { model } }) => ["id" in model ? model.id : `${model.provider}/${model.modelId}`],
  };
}

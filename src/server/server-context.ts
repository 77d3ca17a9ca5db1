/**
 * The context that the routes of a server share.
 */
import type { Agent, Client, ClientSession, Json, RunParams, SessionSummary, Worker } from "../index.js";
import { redactJson } from "../index.js";
import { readSessionLook } from "../inspect.js";
import type { A2aHttp } from "../protocols/a2a/index.js";
import type { McpHttp } from "../protocols/mcp-server/index.js";
import type { FindReadingAgent } from "./find-reading-agent.js";
import type { Hubs } from "./hubs.js";
import type { Keys } from "./keys.js";
import type { ListWatch } from "./list-watch.js";
import type { LoneRuns } from "./lone-runs.js";
import type { RequestMetrics } from "./metrics/request-metrics.js";
import type { OpenCalls } from "./open-calls.js";
import { createConfigurationError } from "./option-checks.js";
import type { PageAccess } from "./page-access.js";
import type { Links } from "./peers/links.js";
import {
  type Action,
  type AskedRun,
  type AskedSession,
  isOwnSession,
  type Principal,
  type RunRequest,
} from "./principal.js";
import { ServerError } from "./server-error.js";
import type { ServerSettings } from "./server-settings.js";
import { addTopPrincipal, createBeginningInfo } from "./session-info.js";
import type { OpenStreams } from "./streams.js";
import type { Ticks } from "./tick.js";
import type { UsageLimits } from "./usage-limits.js";

export type ServerContext = {
  readonly settings: ServerSettings;
  readonly client: Client;
  /** The agents of this process, by name. */
  readonly agents: ReadonlyMap<string, Agent>;
  readonly findReadingAgent: FindReadingAgent;
  readonly worker: Pick<Worker, "status"> | null;
  readonly ticks: Ticks;
  readonly hubs: Hubs;
  readonly links: Links;
  readonly listWatch: ListWatch;
  readonly streams: OpenStreams;
  /** The streams that other processes of this server read. */
  readonly peerStreams: OpenStreams;
  /** Null if runs without watchers continue. */
  readonly loneRuns: LoneRuns | null;
  readonly usage: UsageLimits;
  readonly requestMetrics: RequestMetrics;
  readonly openCalls: OpenCalls;
  readonly isDraining: () => boolean;
  readonly keys: Keys;
  readonly pageAccess: PageAccess;
  /** The key that proves this server to clients with its secret; null without a configured secret. */
  readonly proofKey: string | null;
  /** The MCP server of this process's agents, loaded on first use. @throws PawlError `missing_package` */
  readonly mcp: () => Promise<McpHttp>;
  /** The A2A handler, loaded on first use. @throws PawlError `missing_package` */
  readonly a2a: () => Promise<A2aHttp>;
  /** The OpenAPI document. */
  readonly openApi: () => object;
  /** The ids of an agent's model and its fallbacks. */
  readonly listModelIds: (agent: Agent) => readonly string[];
};

/** A session that the caller may read. */
export type ReadableSession = {
  readonly session: ClientSession;
  readonly summary: SessionSummary;
  readonly requested: AskedSession;
  /** The unfinished runs, if the log was empty; otherwise null. */
  readonly openRunIds: readonly string[] | null;
};

/** A session that the principal may not read gets the same response as one that does not exist (SEC-3). */
export function createNoSessionError(id: string): ServerError {
  return new ServerError("no_session", `There is no session ${id}.`);
}

/** @throws ServerError `no_session`, `forbidden` */
export async function authorizeSession(
  context: ServerContext,
  principal: Principal,
  action: Action,
  id: string,
  run: AskedRun = {},
): Promise<ReadableSession> {
  const summary = isValidId(id) ? await context.settings.store.describe(id) : null;
  if (summary === null) throw createNoSessionError(id);
  return authorizeDescribed(context, principal, action, summary, run);
}

/** The same for a session that the caller has just described. */
export async function authorizeDescribed(
  context: ServerContext,
  principal: Principal,
  action: Action,
  summary: SessionSummary,
  run: AskedRun = {},
): Promise<ReadableSession> {
  const { sessionId: id } = summary;
  const { store } = context.settings;
  const look = summary.info === null ? await readSessionLook(store, id) : null;
  const info = look === null ? summary.info : createBeginningInfo(look.binding);
  const requested = { id, info: await addTopPrincipal(info, (topId) => store.describe(topId)) };
  if (!(await isAllowed(context, principal, "read", requested))) throw createNoSessionError(id);
  if (action !== "read" && !(await isAllowed(context, principal, action, requested, run)))
    throw new ServerError("forbidden", `You are not allowed to perform the action ${action} in session ${id}.`);
  // Until the first request has been consumed, the info comes from that request. The summary passes it on, so that it is not read again.
  return {
    session: context.client.session(id),
    summary: { ...summary, info: requested.info },
    requested,
    openRunIds: look?.openRunIds ?? null,
  };
}

/** Whether the error means that the session does not exist, or that the principal may not use it. */
export function isRefusal(error: unknown): boolean {
  return error instanceof ServerError && (error.code === "no_session" || error.code === "forbidden");
}

/** Whether this can be a session id. Invalid ids get the same 404 as unknown ones. */
function isValidId(id: string): boolean {
  return id !== "" && id.length <= 512 && !/\0|\p{Surrogate}/u.test(id);
}

export async function isAllowed(
  { settings }: ServerContext,
  principal: Principal,
  action: Action,
  session: AskedSession | null,
  run: AskedRun = {},
): Promise<boolean> {
  return settings.may === null ? isOwnSession(principal, session) : settings.may(principal, action, session, run);
}

/** The `params` that the server sets for a run, as a run option. @throws PawlError `bad_configuration` if they are not an object */
export async function chooseParams(
  { settings }: ServerContext,
  { principal, request }: Pick<RunRequest, "principal" | "request">,
  agent: string | undefined,
): Promise<{ readonly params?: RunParams }> {
  const params = await settings.chooseParams?.({ principal, request, ...(agent === undefined ? {} : { agent }) });
  if (params === undefined) return {};
  if (typeof params !== "object" || params === null)
    throw createConfigurationError("The option `params` of createServer() must return an object or undefined.");
  return { params };
}

/** Returns a copy in which secrets are masked. */
export function redactSecrets({ settings }: Pick<ServerContext, "settings">, value: unknown): unknown {
  return redactJson(value as Json, settings.redact);
}

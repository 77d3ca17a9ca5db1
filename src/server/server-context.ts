/**
 * What the routes of one server share.
 */
import type { Agent, Client, ClientSession, Json, SessionSummary, Worker } from "../index.js";
import { redactJson } from "../index.js";
import type { McpHttp } from "../protocols/mcp-server/index.js";
import type { Hubs } from "./hubs.js";
import type { ListWatch } from "./list-watch.js";
import type { LoneRuns } from "./lone-runs.js";
import type { RequestFigures } from "./metrics/requests.js";
import type { OpenCalls } from "./open-calls.js";
import type { PageAccess } from "./page-access.js";
import type { Links } from "./peers/links.js";
import { type Action, type AskedRun, type AskedSession, ownSessions, type Principal } from "./principal.js";
import type { ReadingAgent } from "./reading-agent.js";
import type { Keys } from "./secret.js";
import { ServerError } from "./server-error.js";
import type { ServerSettings } from "./server-options.js";
import { sessionInfo } from "./session-info.js";
import type { OpenStreams } from "./streams.js";
import type { UsageLimits } from "./usage-limits.js";

export type ServerContext = {
  readonly settings: ServerSettings;
  readonly client: Client;
  /** The agents of this process, by name. */
  readonly agents: ReadonlyMap<string, Agent>;
  readonly agentFor: ReadingAgent;
  readonly worker: Pick<Worker, "status"> | null;
  readonly hubs: Hubs;
  readonly links: Links;
  readonly list: ListWatch;
  readonly streams: OpenStreams;
  /** Those that other processes of this server read. */
  readonly peerStreams: OpenStreams;
  /** Null if runs that nobody watches go on. */
  readonly alone: LoneRuns | null;
  readonly usage: UsageLimits;
  readonly requests: RequestFigures;
  readonly calls: OpenCalls;
  readonly isDraining: () => boolean;
  readonly keys: Keys;
  readonly pages: PageAccess;
  /** Proves this server to those who know its secret; null if nobody was given one. */
  readonly proofKey: string | null;
  /** The MCP server of the agents here, loaded when it is used. @throws PawlError `missing_package` */
  readonly mcp: () => Promise<McpHttp>;
  /** The OpenAPI document. */
  readonly openApi: () => object;
  /** The ids of an agent's model and its fallbacks. */
  readonly modelsOf: (agent: Agent) => readonly string[];
};

/** A session that the caller may read. */
export type ReadSession = {
  readonly session: ClientSession;
  readonly summary: SessionSummary;
  readonly asked: AskedSession;
};

/** A session that may not be read is answered like one that there is not (SEC-3). */
export function noSession(id: string): ServerError {
  return new ServerError("no_session", `There is no session ${id}.`);
}

/** @throws ServerError `no_session`, `forbidden` */
export async function sessionFor(
  context: ServerContext,
  principal: Principal,
  action: Action,
  id: string,
  run: AskedRun = {},
): Promise<ReadSession> {
  const session = isId(id) ? context.client.session(id) : null;
  const summary = session === null ? null : await context.settings.store.describe(id);
  if (session === null || summary === null) throw noSession(id);
  const asked = { id, info: await sessionInfo(context.settings.store, summary) };
  if (!(await isAllowed(context, principal, "read", asked))) throw noSession(id);
  if (action !== "read" && !(await isAllowed(context, principal, action, asked, run)))
    throw new ServerError("forbidden", `You may not do this in session ${id} (${action}).`);
  return { session, summary, asked };
}

/** Whether the library can have a session of this id: others are answered like those that there are not. */
function isId(id: string): boolean {
  return id !== "" && id.length <= 512 && !/\0|\p{Surrogate}/u.test(id);
}

export async function isAllowed(
  { settings }: ServerContext,
  principal: Principal,
  action: Action,
  session: AskedSession | null,
  run: AskedRun = {},
): Promise<boolean> {
  return settings.may === null ? ownSessions(principal, session) : settings.may(principal, action, session, run);
}

/** A copy without secrets. */
export function shown({ settings }: Pick<ServerContext, "settings">, value: unknown): unknown {
  return redactJson(value as Json, settings.redact);
}

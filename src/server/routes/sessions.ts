/**
 * Sessions: listing, describing, creating, forking and deleting them.
 */
import { buildOverview, initialState } from "../../core/index.js";
import {
  type Agent,
  addUsage,
  deleteSession,
  type RunResult,
  type SessionInfo,
  type SessionSummary,
  type Status,
  type Store,
  type Usage,
} from "../../index.js";
import { findBeginning, isHolderDead } from "../../inspect.js";
import type { ListedSession } from "../client/index.js";
import { deriveId, randomBase64url } from "../principal.js";
import { responseContents } from "../response-schemas.js";
import type { Route, RouteRequest } from "../route.js";
import {
  authorizeSession,
  chooseParams,
  isAllowed,
  type ReadableSession,
  redactSecrets,
  type ServerContext,
} from "../server-context.js";
import { ServerError } from "../server-error.js";
import { createCachedDescribe, loadSessionInfo } from "../session-info.js";
import { anyJson, integer, object, oneOf, string } from "../shape.js";
import { statuses } from "../statuses.js";
import { formatPageCursor, parseSessionCursor } from "./paging.js";
import { parseRunOptions, runOptionsShape, withClientErrors } from "./run-options.js";

/** The maximum number of sessions that a page examines, even if it is not full, because `may` is called for each. */
const maxExamined = 2_000;

/** The batch size of further queries, if the first one found too few sessions that the principal may read. */
const batchSizeAfterFirst = 200;

export const sessionRoutes: readonly Route[] = [
  {
    method: "GET",
    path: "/v1/sessions",
    action: "list",
    scope: "read",
    summary: "Sessions, newest first. Without `parent`, only sessions that no other session started.",
    query: object({
      status: oneOf("Only sessions with this status.", ...statuses),
      agent: string("Only sessions of this agent."),
      parent: string("Only sessions that this session started."),
      q: string("Only sessions with this text in their title or id, ignoring case.", 200),
      limit: integer("The maximum number of sessions.", 1, 500),
      cursor: string("The `next` of the previous page.", 2_000),
    }),
    responses: { 200: "{ sessions, next }: `next` is the cursor of the next page, null at the end" },
    content: { 200: responseContents.sessions },
    handle: listSessions,
  },
  {
    method: "POST",
    path: "/v1/sessions",
    action: "begin",
    scope: "run",
    summary:
      "Begins a session with an input. A process with the agent drives the run. The header `Idempotency-Key` becomes the run id, so repeated requests begin only one session.",
    body: object(
      {
        agent: string("The name of the agent.", 200),
        input: anyJson("A string, parts, or user messages."),
        options: runOptionsShape,
        sessionId: string("Your own session id. Needs the scope admin.", 200),
      },
      ["agent", "input"],
    ),
    responses: { 201: "{ sessionId, runId, seq }: stream from `seq`" },
    content: { 201: responseContents.begun },
    handle: beginSession,
  },
  {
    method: "GET",
    path: "/v1/sessions/:id",
    action: "read",
    scope: "read",
    ofSession: true,
    summary: "Describes a session, its run, and its waiting calls.",
    responses: { 200: "{ sessionId, info, status, seq, createdAt, updatedAt, isHeld, run, waiting }" },
    content: { 200: responseContents.session },
    handle: describeSession,
  },
  {
    method: "DELETE",
    path: "/v1/sessions/:id",
    action: "delete",
    scope: "admin",
    ofSession: true,
    summary: "Deletes a session with all its data and verdicts, unless a process holds it or its run is active.",
    responses: { 204: "deleted" },
    async handle({ principal, params }, context) {
      const { requested } = await authorizeSession(context, principal, "delete", params.id ?? "");
      await deleteSession(context.settings.store, requested.id, { now: Date.now() });
      return { status: 204, bytes: null };
    },
  },
  {
    method: "POST",
    path: "/v1/sessions/:id/redactions",
    action: "redact",
    scope: "admin",
    ofSession: true,
    summary:
      "Removes content from a session at rest: texts wherever they occur (also in the sessions that its calls began), or all content of entries or calls. Readers see `[redacted]` instead, at the same cursors.",
    body: object({
      text: anyJson("A string of at least 6 characters, or an array of strings."),
      seq: anyJson("The number of an entry, or an array of numbers."),
      callKey: anyJson("The key of a tool call, or an array of keys."),
      note: string("The reason, which is recorded in the log.", 10_000),
    }),
    responses: { 200: "{ sessionId, seq, entries, blobs, children }: `seq` is null if there was nothing to remove" },
    content: { 200: responseContents.redaction },
    async handle(routeRequest, context) {
      const { session } = await authorizeSession(
        context,
        routeRequest.principal,
        "redact",
        routeRequest.params.id ?? "",
      );
      return { status: 200, json: await session.redact({ ...routeRequest.body, by: routeRequest.principal.id }) };
    },
  },
  {
    method: "GET",
    path: "/v1/sessions/:id/messages",
    action: "read",
    scope: "read",
    ofSession: true,
    summary: "The conversation as the model sees it.",
    responses: { 200: "{ messages }" },
    content: { 200: responseContents.messages },
    async handle(routeRequest, context) {
      const { session } = await authorizeRead(routeRequest, context);
      return { status: 200, json: { messages: redactSecrets(context, await session.messages()) } };
    },
  },
  {
    method: "POST",
    path: "/v1/sessions/:id/fork",
    action: "fork",
    scope: "run",
    ofSession: true,
    summary: "Copies the history up to an entry into a new session.",
    body: object({ at: integer("The last entry of the copy. Default: all.", 1, Number.MAX_SAFE_INTEGER) }),
    responses: { 201: "{ sessionId }" },
    content: { 201: responseContents.copy },
    async handle(routeRequest, context) {
      const { session } = await authorizeSession(context, routeRequest.principal, "fork", routeRequest.params.id ?? "");
      const at = routeRequest.body.at as number | undefined;
      const copy = await session.fork({ sessionId: randomBase64url(16), ...(at === undefined ? {} : { at }) });
      return { status: 201, json: { sessionId: copy.id } };
    },
  },
];

function authorizeRead({ principal, params }: RouteRequest, context: ServerContext): Promise<ReadableSession> {
  return authorizeSession(context, principal, "read", params.id ?? "");
}

async function listSessions({ principal, query }: RouteRequest, context: ServerContext) {
  const { store, limits } = context.settings;
  const {
    status,
    agent,
    parent,
    q,
    limit = 50,
    cursor,
  } = query as {
    readonly [Name in "agent" | "parent" | "q" | "cursor"]?: string;
  } & { readonly status?: Status; readonly limit?: number };
  const maxResults = Math.min(limit, limits.maxPage);
  const filters: Parameters<Store["list"]>[0] = {
    overview: true,
    parent: parent ?? null,
    ...(q === undefined ? {} : { text: q }),
    ...(status === undefined ? {} : { status: [status] }),
    ...(agent === undefined ? {} : { agent }),
  };
  const describeTop = createCachedDescribe(store);
  const found: unknown[] = [];
  let after = parseSessionCursor(cursor);
  let isComplete = false;
  for (let examined = 0; found.length < maxResults && examined < maxExamined && !isComplete; ) {
    // A small page must not cause a query for each session of other principals.
    const batchSize = examined === 0 ? maxResults : Math.max(maxResults, batchSizeAfterFirst);
    const page = await store.list({ ...filters, limit: batchSize, ...(after === undefined ? {} : { after }) });
    for (const summary of page) {
      if (found.length === maxResults) break;
      after = { updatedAt: summary.updatedAt, sessionId: summary.sessionId };
      const info = await loadSessionInfo(store, summary, describeTop);
      examined += 1;
      if (q !== undefined && !matchesText(q, summary.sessionId, info)) continue;
      if (await isAllowed(context, principal, "read", { id: summary.sessionId, info }))
        found.push(redactSecrets(context, await loadListedSession(store, summary, info)));
    }
    isComplete = page.length < batchSize && found.length < maxResults;
  }
  return {
    status: 200,
    json: { sessions: found, next: isComplete || after === undefined ? null : formatPageCursor(after) },
  } as const;
}

function matchesText(query: string, sessionId: string, info: SessionInfo | null): boolean {
  const text = query.toLowerCase();
  return [sessionId, info?.title ?? ""].some((candidate) => candidate.toLowerCase().includes(text));
}

function pickListedFields(
  { sessionId, status, activity, seq, createdAt, updatedAt, inbox, holder }: SessionSummary,
  info: SessionInfo | null,
) {
  const isHeld = holder !== null && !isHolderDead(holder);
  return { sessionId, info, status, activity, seq, createdAt, updatedAt, inbox, isHeld };
}

/** The usage of a run, with its cost rounded as in results. */
function roundUsage({ usage }: { readonly usage: Usage }): Usage {
  return addUsage({}, usage);
}

/** Loads a session as lists show it. If the store gives no overview, reads the state and looks for a child session. */
export async function loadListedSession(
  store: Store,
  summary: SessionSummary,
  info: SessionInfo | null,
): Promise<ListedSession> {
  return { ...pickListedFields(summary, info), ...(summary.overview ?? (await loadOverview(store, summary))) };
}

async function loadOverview(store: Store, { sessionId, info }: SessionSummary) {
  const state = info === null ? null : ((await store.load(sessionId))?.state ?? null);
  const children = await store.list({ parent: sessionId, limit: 1 });
  return { ...buildOverview(state ?? initialState), hasChildren: children.length > 0 };
}

async function beginSession({ request, principal, body }: RouteRequest, context: ServerContext) {
  const options = parseRunOptions(body, context.settings);
  const { agent, input, sessionId } = body as {
    readonly agent: string;
    readonly input: string;
    readonly sessionId?: string;
  };
  const { agents, client } = context;
  if (agents.size > 0 && !agents.has(agent))
    throw new ServerError(
      "bad_input",
      `There is no agent ${JSON.stringify(agent)} on this server. Known agents: ${[...agents.keys()].join(", ")}.`,
    );
  if (sessionId !== undefined && !principal.scopes.includes("admin"))
    throw new ServerError(
      "forbidden",
      "Choosing a session id needs the scope admin. Leave out sessionId to get a random one.",
    );
  if (!(await isAllowed(context, principal, "begin", null, { agent, options })))
    throw new ServerError("forbidden", "You are not allowed to begin sessions.");
  const key = request.headers.get("idempotency-key");
  const id = sessionId ?? (key === null ? randomBase64url(16) : deriveId(principal, key));
  const { store } = context.settings;
  const sessionExists = (sessionId !== undefined || key !== null) && (await store.describe(id)) !== null;
  if (sessionExists && (key === null || (await findBeginning(store, id))?.runId !== key))
    throw new ServerError(
      "session_busy",
      `The session ${id} already exists. Send the input to it: POST /v1/sessions/${id}/runs.`,
    );
  const sendOptions = {
    ...(await chooseParams(context, { principal, request }, agent)),
    ...(key === null ? {} : { runId: key }),
    // An id that a client chose may have come to exist in the meantime, with another agent.
    ...(sessionId === undefined && !sessionExists ? { seen: null } : {}),
    ...pickRoot(agents.get(agent)),
    ...context.settings.traceOf(request),
  };
  const { runId } = await withClientErrors(
    client.session(id).send(input, { ...options, agent, by: principal.id, ...sendOptions }),
  );
  return { status: 201, json: { sessionId: id, runId, seq: 0 } } as const;
}

/** Binds a session to the folder of its agent, so that the process that drives it uses the same folder. */
export function pickRoot(agent: Agent | undefined): { readonly root?: string } {
  const root = agent?.options.root;
  return root === undefined ? {} : { root };
}

async function describeSession(routeRequest: RouteRequest, context: ServerContext) {
  const { session, summary, requested } = await authorizeRead(routeRequest, context);
  const state = await session.state();
  const result: RunResult | null = await session.result();
  const run =
    state.status === "idle"
      ? null
      : { runId: state.runId, startSeq: state.startSeq, counters: state.counters, usage: roundUsage(state), result };
  const waiting = await session.pendingApprovals();
  return {
    status: 200,
    json: redactSecrets(context, {
      ...pickListedFields(summary, requested.info),
      seq: state.seq,
      status: state.status,
      run,
      waiting,
    }),
  } as const;
}

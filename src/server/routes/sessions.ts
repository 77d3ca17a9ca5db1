/**
 * Sessions: the list, what one is, beginning one, forking and deleting one.
 */
import {
  type Agent,
  addUsage,
  findBeginning,
  type RunResult,
  type SessionInfo,
  type SessionSummary,
  type Status,
  type Store,
  type Usage,
} from "../../index.js";
import { answers } from "../answer-shapes.js";
import type { ListedSession } from "../client/index.js";
import { idFor, randomText } from "../principal.js";
import type { Asked, Route } from "../route.js";
import { isAllowed, type ReadSession, type ServerContext, sessionFor, shown } from "../server-context.js";
import { ServerError } from "../server-error.js";
import { sessionInfo } from "../session-info.js";
import { json, objectOf, oneOf, text, whole } from "../shape.js";
import { cursorOf, sessionPlaceIn } from "./paging.js";
import { byClient, runOptions, runOptionsIn } from "./run-options.js";

const statuses = [
  ...["idle", "preparing", "model_running", "tool_running", "awaiting_human", "completed", "failed", "aborted"],
] as const;

/** Sessions that a page looks at before it is given out, although it is not full: `may` is asked for each. */
const mostLookedAt = 2_000;

/** Sessions that are read at a time if few of them may be wanted. */
const lookedAtOnce = 200;

export const sessionRoutes: readonly Route[] = [
  {
    method: "GET",
    path: "/v1/sessions",
    action: "list",
    scope: "read",
    about: "Sessions, newest first. Without `parent`, those that no other session started.",
    query: objectOf({
      status: oneOf("Only sessions of this status.", ...statuses),
      agent: text("Only sessions of this agent."),
      parent: text("Only sessions that this session started."),
      q: text("Only sessions with this text in their title or id, in whatever case.", 200),
      limit: whole("The most sessions.", 1, 500),
      cursor: text("The `next` of the page before.", 2_000),
    }),
    gives: { 200: "{ sessions, next }: `next` is the cursor of the next page, null at the end" },
    answers: { 200: answers.sessions },
    handle: list,
  },
  {
    method: "POST",
    path: "/v1/sessions",
    action: "begin",
    scope: "run",
    about:
      "Begins a session with a request. A process with the agent carries it out. The header `Idempotency-Key` is the id of the run: a repeated request begins one session.",
    body: objectOf(
      {
        agent: text("The name of the agent.", 200),
        input: json("A text, parts, or user messages."),
        options: runOptions,
        sessionId: text("An id of your own. It needs the scope admin.", 200),
      },
      ["agent", "input"],
    ),
    gives: { 201: "{ sessionId, runId, seq }: stream from `seq`" },
    answers: { 201: answers.begun },
    handle: begin,
  },
  {
    method: "GET",
    path: "/v1/sessions/:id",
    action: "read",
    scope: "read",
    ofSession: true,
    about: "What a session is, its run, and what waits for an answer.",
    gives: { 200: "{ sessionId, info, status, seq, createdAt, updatedAt, isHeld, run, waiting }" },
    answers: { 200: answers.session },
    handle: describe,
  },
  {
    method: "DELETE",
    path: "/v1/sessions/:id",
    action: "delete",
    scope: "admin",
    ofSession: true,
    about: "Deletes a session and all its data, unless it is held or its run is under way.",
    gives: { 204: "deleted" },
    async handle({ principal, params }, context) {
      const { asked } = await sessionFor(context, principal, "delete", params.id ?? "");
      await context.settings.store.delete(asked.id, { now: Date.now() });
      return { status: 204, bytes: null };
    },
  },
  {
    method: "POST",
    path: "/v1/sessions/:id/redactions",
    action: "redact",
    scope: "admin",
    ofSession: true,
    about:
      "Takes content out of a session at rest: texts wherever they are (also in the sessions that its calls began), or all content of entries or calls. Its readers see `[redacted]` instead, at the same cursors.",
    body: objectOf({
      text: json("A text of at least 6 characters, or a list of texts."),
      seq: json("The number of an entry, or a list of numbers."),
      callKey: json("The key of a tool call, or a list of keys."),
      note: text("Why. The log keeps it.", 10_000),
    }),
    gives: { 200: "{ sessionId, seq, entries, blobs, children }: `seq` is null if there was nothing to remove" },
    answers: { 200: answers.redaction },
    async handle(asked, context) {
      const { session } = await sessionFor(context, asked.principal, "redact", asked.params.id ?? "");
      return { status: 200, json: await session.redact({ ...asked.body, by: asked.principal.id }) };
    },
  },
  {
    method: "GET",
    path: "/v1/sessions/:id/messages",
    action: "read",
    scope: "read",
    ofSession: true,
    about: "The conversation as the model sees it.",
    gives: { 200: "{ messages }" },
    answers: { 200: answers.messages },
    async handle(asked, context) {
      const { session } = await readOf(asked, context);
      return { status: 200, json: { messages: shown(context, await session.messages()) } };
    },
  },
  {
    method: "POST",
    path: "/v1/sessions/:id/fork",
    action: "fork",
    scope: "run",
    ofSession: true,
    about: "Copies the history up to an entry into a new session.",
    body: objectOf({ at: whole("The last entry of the copy. Default: all.", 1, Number.MAX_SAFE_INTEGER) }),
    gives: { 201: "{ sessionId }" },
    answers: { 201: answers.copy },
    async handle(asked, context) {
      const { session } = await sessionFor(context, asked.principal, "fork", asked.params.id ?? "");
      const at = asked.body.at as number | undefined;
      const copy = await session.fork({ sessionId: randomText(16), ...(at === undefined ? {} : { at }) });
      return { status: 201, json: { sessionId: copy.id } };
    },
  },
];

function readOf({ principal, params }: Asked, context: ServerContext): Promise<ReadSession> {
  return sessionFor(context, principal, "read", params.id ?? "");
}

async function list({ principal, query }: Asked, context: ServerContext) {
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
  const most = Math.min(limit, limits.maxPage);
  const filters: Parameters<Store["list"]>[0] = {
    parent: parent ?? null,
    ...(status === undefined ? {} : { status: [status] }),
    ...(agent === undefined ? {} : { agent }),
  };
  const found: unknown[] = [];
  let after = sessionPlaceIn(cursor);
  let isWhole = false;
  for (let looked = 0; found.length < most && looked < mostLookedAt && !isWhole; ) {
    const limit = q === undefined ? most : lookedAtOnce;
    const page = await store.list({ ...filters, limit, ...(after === undefined ? {} : { after }) });
    for (const summary of page) {
      if (found.length === most) break;
      after = { updatedAt: summary.updatedAt, sessionId: summary.sessionId };
      const info = await sessionInfo(context.settings.store, summary);
      looked += 1;
      if (q !== undefined && !hasText(q, summary.sessionId, info)) continue;
      if (await isAllowed(context, principal, "read", { id: summary.sessionId, info }))
        found.push(shown(context, await inList(store, summary, info)));
    }
    isWhole = page.length < limit && found.length < most;
  }
  return {
    status: 200,
    json: { sessions: found, next: isWhole || after === undefined ? null : cursorOf(after) },
  } as const;
}

function hasText(wanted: string, sessionId: string, info: SessionInfo | null): boolean {
  const text = wanted.toLowerCase();
  return [sessionId, info?.title ?? ""].some((one) => one.toLowerCase().includes(text));
}

function listed(
  { sessionId, status, activity, seq, createdAt, updatedAt, inbox, holder }: SessionSummary,
  info: SessionInfo | null,
) {
  return { sessionId, info, status, activity, seq, createdAt, updatedAt, inbox, isHeld: holder !== null };
}

/** What a run has used, with its cost rounded as results have it. */
function shownUsage({ usage }: { readonly usage: Usage }): Usage {
  return addUsage({}, usage);
}

/** A session as lists show it, with the newest run as its state has it. */
export async function inList(store: Store, summary: SessionSummary, info: SessionInfo | null): Promise<ListedSession> {
  const state = summary.info === null ? null : ((await store.load(summary.sessionId))?.state ?? null);
  const lastRun =
    state === null || state.status === "idle"
      ? null
      : { runId: state.runId, steps: state.counters.totalSteps, usage: shownUsage(state) };
  const children = await store.list({ parent: summary.sessionId, limit: 1 });
  return { ...listed(summary, info), hasChildren: children.length > 0, lastRun };
}

async function begin({ request, principal, body }: Asked, context: ServerContext) {
  const options = runOptionsIn(body, context.settings);
  const { agent, input, sessionId } = body as {
    readonly agent: string;
    readonly input: string;
    readonly sessionId?: string;
  };
  const { agents, client } = context;
  if (agents.size > 0 && !agents.has(agent))
    throw new ServerError(
      "bad_input",
      `There is no agent ${JSON.stringify(agent)} here. There are ${[...agents.keys()].join(", ")}.`,
    );
  if (sessionId !== undefined && !principal.scopes.includes("admin"))
    throw new ServerError(
      "forbidden",
      "A session id of your own needs the scope admin. Leave it out for a random one.",
    );
  if (!(await isAllowed(context, principal, "begin", null, { agent, options })))
    throw new ServerError("forbidden", "You may not begin sessions here.");
  const key = request.headers.get("idempotency-key");
  const id = sessionId ?? (key === null ? randomText(16) : idFor(principal, key));
  const { store } = context.settings;
  const isThere = (sessionId !== undefined || key !== null) && (await store.describe(id)) !== null;
  if (isThere && (key === null || (await findBeginning(store, id))?.runId !== key))
    throw new ServerError(
      "session_busy",
      `There is a session ${id} already. Send the request to it: POST /v1/sessions/${id}/runs.`,
    );
  const trace = context.settings.traceOf(request);
  const own = { ...(key === null ? {} : { runId: key }), ...rootOf(agents.get(agent)), ...trace };
  const { runId } = await byClient(client.session(id).send(input, { ...options, agent, by: principal.id, ...own }));
  return { status: 201, json: { sessionId: id, runId, seq: 0 } } as const;
}

/** A session is bound to the folder of its agent, so that the process that carries it out has the same one. */
export function rootOf(agent: Agent | undefined): { readonly root?: string } {
  const root = agent?.options.root;
  return root === undefined ? {} : { root };
}

async function describe(asked: Asked, context: ServerContext) {
  const { session, summary, asked: found } = await readOf(asked, context);
  const state = await session.state();
  const result: RunResult | null = await session.result();
  const run =
    state.status === "idle"
      ? null
      : { runId: state.runId, startSeq: state.startSeq, counters: state.counters, usage: shownUsage(state), result };
  const waiting = await session.pendingApprovals();
  return {
    status: 200,
    json: shown(context, { ...listed(summary, found.info), seq: state.seq, status: state.status, run, waiting }),
  } as const;
}

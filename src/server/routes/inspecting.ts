/**
 * What a session's log holds beyond its public events: entries, blobs, the trace, the requests of its model.
 */
import { modelRequest, type SessionStep, sessionSteps, sessionTracePage } from "../../index.js";
import { difference, tokensOf } from "../request-parts.js";
import type { Asked, Route } from "../route.js";
import { type ServerContext, sessionFor, shown } from "../server-context.js";
import { ServerError } from "../server-error.js";
import { objectOf, text, whole } from "../shape.js";

const pageFields = {
  after: whole("The entry to go on from.", 0, Number.MAX_SAFE_INTEGER),
  limit: whole("The most items.", 1, 500),
};
const pageOf = objectOf(pageFields);

export const inspectingRoutes: readonly Route[] = [
  {
    method: "GET",
    path: "/v1/sessions/:id/entries",
    action: "entries",
    scope: "prompt",
    ofSession: true,
    about: "Entries of the log, as they are stored, without secrets.",
    query: pageOf,
    gives: { 200: "{ entries, next }: `next` is the entry to go on from, null at the end of the log" },
    handle: entries,
  },
  {
    method: "GET",
    path: "/v1/sessions/:id/blobs/:hash",
    action: "blobs",
    scope: "prompt",
    ofSession: true,
    about: "The bytes of a blob, as an attachment.",
    gives: { 200: "application/octet-stream" },
    handle: blob,
  },
  {
    method: "GET",
    path: "/v1/sessions/:id/trace",
    action: "read",
    scope: "read",
    ofSession: true,
    about:
      "The trace of a session, without the texts of models and tools. A page ends with an entry, so it may have a few records more.",
    query: objectOf({ ...pageFields, runId: text("Only records of this run.", 200) }),
    gives: { 200: "{ records, next }: `next` is the entry to go on from, null at the end" },
    handle: trace,
  },
  {
    method: "GET",
    path: "/v1/sessions/:id/steps",
    action: "read",
    scope: "read",
    ofSession: true,
    about: "The steps of a session, one short row each, named by `columns`. The last page has the step under way.",
    query: pageOf,
    gives: { 200: "{ columns, steps, next }: `next` is where to go on, null at the end" },
    handle: steps,
  },
  {
    method: "GET",
    path: "/v1/sessions/:id/requests/:runId/:index",
    action: "requests",
    scope: "prompt",
    ofSession: true,
    about:
      "The request of a model call exactly as it was sent, without secrets; the tokens of its parts, as an estimate; and where it first differs from the request of the step before.",
    query: objectOf({ attempt: whole("Which attempt. Default: the last one.", 1, 1_000_000) }),
    gives: { 200: "{ request, tokens, difference }: `difference` is null if the request only adds to the one before" },
    handle: request,
  },
  {
    method: "POST",
    path: "/v1/sessions/:id/replay",
    action: "replay",
    scope: "run",
    ofSession: true,
    about: "Runs the log again with the present code and agent, writes nothing, and gives the first difference.",
    body: objectOf({}),
    gives: { 200: "{ replay }" },
    async handle({ principal, params }, context) {
      const { asked } = await sessionFor(context, principal, "replay", params.id ?? "");
      const agent = context.agents.get(asked.info?.agent ?? "");
      if (agent === undefined)
        throw new ServerError("agent_mismatch", `The agent of session ${asked.id} is not in this process.`);
      return { status: 200, json: { replay: shown(context, await agent.session(asked.id).replay()) } };
    },
  },
];

async function entries({ principal, params, query }: Asked, context: ServerContext) {
  const { asked } = await sessionFor(context, principal, "entries", params.id ?? "");
  const { store, limits } = context.settings;
  const { after = 0, limit = 100 } = query as { readonly after?: number; readonly limit?: number };
  const most = Math.min(limit, limits.maxPage);
  const page = await store.read(asked.id, after, most);
  const next = page.length < most ? null : (page.at(-1)?.seq ?? null);
  return { status: 200, json: { entries: shown(context, page), next } } as const;
}

/** Never shown by a browser: what a model or a tool gave is a stranger's. */
async function blob({ principal, params }: Asked, context: ServerContext) {
  const { asked } = await sessionFor(context, principal, "blobs", params.id ?? "");
  const hash = params.hash ?? "";
  const bytes = /^[0-9a-f]{64}$/.test(hash) ? await context.settings.store.getBlob(asked.id, hash) : null;
  if (bytes === null) throw new ServerError("not_found", "The session has no such blob.");
  const headers = {
    "content-type": "application/octet-stream",
    "content-disposition": `attachment; filename="${hash}"`,
  };
  return { status: 200, bytes, headers } as const;
}

async function trace({ principal, params, query }: Asked, context: ServerContext) {
  const { asked } = await sessionFor(context, principal, "read", params.id ?? "");
  const { store, redact, limits } = context.settings;
  const { after = 0, limit = 100, runId } = query as Page & { readonly runId?: string };
  const page = { redact, after, limit: Math.min(limit, limits.maxPage), ...(runId === undefined ? {} : { runId }) };
  return { status: 200, json: await sessionTracePage(store, asked.id, page) } as const;
}

type Page = { readonly after?: number; readonly limit?: number };

const columns = [
  ...["seq", "runId", "index", "startedAt", "ms", "attempts", "in", "read", "out", "flags", "calls"],
] as const;

async function steps({ principal, params, query }: Asked, context: ServerContext) {
  const { asked } = await sessionFor(context, principal, "read", params.id ?? "");
  const { store, limits } = context.settings;
  const { after = 0, limit = 100 } = query as Page;
  const page = await sessionSteps(store, asked.id, {
    after,
    limit: Math.min(limit, limits.maxPage),
    asOf: Date.now(),
  });
  const rows = shown(context, page.steps.map(rowOf));
  return { status: 200, json: { columns, steps: rows, next: page.next } } as const;
}

/** Rows of thousands of steps: names would be most of what is sent. */
function rowOf(step: SessionStep): readonly unknown[] {
  const { seq, runId, modelCallIndex, startedAt, durationMs, attempts, usage, flags, calls } = step;
  const { inputTokens = null, cacheReadTokens = null, outputTokens = null } = usage;
  const made = calls.map(({ name, outcome, durationMs: ms }) => [name, outcome, ms]);
  const tokens = [inputTokens, cacheReadTokens, outputTokens];
  return [seq, runId, modelCallIndex, startedAt, durationMs, attempts, ...tokens, flags, made];
}

async function request({ principal, params, query }: Asked, context: ServerContext) {
  const { asked } = await sessionFor(context, principal, "requests", params.id ?? "");
  const attempt = query.attempt as number | undefined;
  const modelCallIndex = /^[1-9]\d{0,8}$/.test(params.index ?? "") ? Number(params.index) : null;
  const found =
    modelCallIndex === null
      ? null
      : await modelRequest(context.settings.store, asked.id, {
          runId: params.runId ?? "",
          modelCallIndex,
          ...(attempt === undefined ? {} : { attempt }),
        });
  if (found === null) throw new ServerError("not_found", "The session has no such request.");
  const { request, before } = found;
  const answer = {
    request: shown(context, request),
    tokens: tokensOf(request),
    difference: difference(request, before),
  };
  return { status: 200, json: answer } as const;
}

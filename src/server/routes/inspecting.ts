/**
 * What a session's log holds beyond its public events: entries, blobs, the trace, the requests of its model.
 */
import { modelRequests, traceSession } from "../../index.js";
import type { Asked, Route } from "../route.js";
import { type ServerContext, sessionFor, shown } from "../server-context.js";
import { ServerError } from "../server-error.js";
import { objectOf, whole } from "../shape.js";

const pageOf = objectOf({
  after: whole("The entry to go on from.", 0, Number.MAX_SAFE_INTEGER),
  limit: whole("The most items.", 1, 500),
});

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
    about: "The trace of a session, without the texts of models and tools.",
    query: pageOf,
    gives: { 200: "{ records }" },
    async handle({ principal, params, query }, context) {
      await sessionFor(context, principal, "read", params.id ?? "");
      const { store, redact, limits } = context.settings;
      const { after = 0, limit = 100 } = query as { readonly after?: number; readonly limit?: number };
      const most = Math.min(limit, limits.maxPage);
      return {
        status: 200,
        json: { records: await traceSession(store, params.id ?? "", { redact, after, limit: most }) },
      };
    },
  },
  {
    method: "GET",
    path: "/v1/sessions/:id/requests/:runId/:index",
    action: "requests",
    scope: "prompt",
    ofSession: true,
    about: "The request of a model call exactly as it was sent, without secrets.",
    query: objectOf({ attempt: whole("Which attempt. Default: the last one.", 1, 1_000_000) }),
    gives: { 200: "{ request }" },
    handle: modelRequest,
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

async function modelRequest({ principal, params, query }: Asked, context: ServerContext) {
  const { asked } = await sessionFor(context, principal, "requests", params.id ?? "");
  const index = Number(params.index);
  const attempt = query.attempt as number | undefined;
  let found: unknown = null;
  for await (const request of modelRequests(context.settings.store, asked.id)) {
    const isMeant = request.runId === params.runId && request.modelCallIndex === index;
    if (isMeant && (attempt === undefined || request.attempt === attempt)) found = request;
  }
  if (found === null) throw new ServerError("not_found", "The session has no such request.");
  return { status: 200, json: { request: shown(context, found) } } as const;
}

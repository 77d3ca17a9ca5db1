/**
 * What a session's log holds beyond its public events: entries, blobs, the trace, the requests of its model.
 */

import {
  modelRequest,
  type PublicEvent,
  type ReplayOptions,
  type SessionStep,
  sessionSteps,
  sessionTracePage,
  type TracePageOptions,
  type TraceRecord,
} from "../../index.js";
import { type CacheLoss, cacheLoss } from "../../models/index.js";
import { answers, bytesContent } from "../answer-shapes.js";
import { difference, tokensOf } from "../request-parts.js";
import type { Asked, Route } from "../route.js";
import { type ServerContext, sessionFor, shown } from "../server-context.js";
import { ServerError } from "../server-error.js";
import { objectOf, oneOf, text, whole } from "../shape.js";
import { shortened } from "../short-events.js";
import { findingRoutes } from "./finding.js";
import { pageIn } from "./paging.js";

const pageFields = {
  after: whole("The entry to go on from.", 0, Number.MAX_SAFE_INTEGER),
  limit: whole("The most items.", 1, 500),
};
const pageOf = objectOf(pageFields);

export const inspectingRoutes: readonly Route[] = [
  ...findingRoutes,
  {
    method: "GET",
    path: "/v1/sessions/:id/entries",
    action: "entries",
    scope: "prompt",
    ofSession: true,
    about: "Entries of the log, as they are stored, without secrets.",
    query: pageOf,
    gives: { 200: "{ entries, next }: `next` is the entry to go on from, null at the end of the log" },
    answers: { 200: answers.entries },
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
    answers: { 200: bytesContent },
    handle: blob,
  },
  {
    method: "GET",
    path: "/v1/sessions/:id/trace",
    action: "read",
    scope: "read",
    ofSession: true,
    about:
      "The trace of a session, without the texts of models and tools. A step that could not read the step before from its provider's cache has `cacheLoss`: why, how many tokens were charged again, and what that cost by list prices. A page ends with an entry, so it may have a few records more.",
    query: objectOf({
      ...pageFields,
      runId: text("Only records of this run.", 200),
      type: oneOf("Only records of this type.", "run_started", "step", "compaction", "handoff", "run_finished"),
    }),
    gives: { 200: "{ records, next }: `next` is the entry to go on from, null at the end" },
    answers: { 200: answers.trace },
    handle: trace,
  },
  {
    method: "GET",
    path: "/v1/sessions/:id/steps",
    action: "read",
    scope: "read",
    ofSession: true,
    about:
      "The steps of a session, one short row each, named by `columns`; and the events between them, with the beginnings of long texts: runs, steers, compactions, restarts, late results, aborts, handoffs. The last page has the step under way.",
    query: pageOf,
    gives: { 200: "{ columns, steps, events, next }: `next` is where to go on, null at the end" },
    answers: { 200: answers.steps },
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
    answers: { 200: answers.request },
    handle: request,
  },
  {
    method: "POST",
    path: "/v1/sessions/:id/replay",
    action: "replay",
    scope: "run",
    ofSession: true,
    about: "Runs the log again with the present code and agent, writes nothing, and gives the first difference.",
    body: objectOf({
      policy: oneOf("Whether policies are asked again. Default: present.", "present", "recorded"),
      prompt: oneOf("recorded: changes of the prompt and the tools are no difference.", "present", "recorded"),
    }),
    gives: { 200: "{ replay }" },
    answers: { 200: answers.replay },
    async handle({ principal, params, body }, context) {
      const { asked } = await sessionFor(context, principal, "replay", params.id ?? "");
      const agent = context.agents.get(asked.info?.agent ?? "");
      if (agent === undefined)
        throw new ServerError("agent_mismatch", `The agent of session ${asked.id} is not in this process.`);
      const replay = await agent.session(asked.id).replay(body as Pick<ReplayOptions, "policy" | "prompt">);
      return { status: 200, json: { replay: shown(context, replay) } };
    },
  },
];

async function entries(given: Asked, context: ServerContext) {
  const { asked } = await sessionFor(context, given.principal, "entries", given.params.id ?? "");
  const { after, limit } = pageIn(given, context);
  const page = await context.settings.store.read(asked.id, after, limit);
  const next = page.length < limit ? null : (page.at(-1)?.seq ?? null);
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

async function trace(given: Asked, context: ServerContext) {
  const { asked } = await sessionFor(context, given.principal, "read", given.params.id ?? "");
  const { store, redact } = context.settings;
  const { runId, type } = given.query as Pick<TracePageOptions, "runId" | "type">;
  const filter = { ...(runId === undefined ? {} : { runId }), ...(type === undefined ? {} : { type }) };
  const page = { redact, ...pageIn(given, context), ...filter };
  const { records, next } = await sessionTracePage(store, asked.id, page);
  return { status: 200, json: { records: records.map(withCacheLoss), next } } as const;
}

const columns = [
  ...["seq", "runId", "index", "startedAt", "ms", "attempts", "in", "read", "out", "flags", "calls", "model", "waited"],
] as const;

/** What a list of steps shows between them. */
const besides: readonly PublicEvent["type"][] = [
  ...["run_queued", "run_started", "steered", "compacted", "restarted", "late_result", "abort_requested"],
  ...["handed_off", "final"],
] as const;

async function steps(given: Asked, context: ServerContext) {
  const { asked } = await sessionFor(context, given.principal, "read", given.params.id ?? "");
  const page = await sessionSteps(context.settings.store, asked.id, {
    ...pageIn(given, context),
    ...{ asOf: Date.now(), events: besides },
  });
  const rows = shown(context, page.steps.map(rowOf));
  // Secrets are taken out before a text is cut: half a secret would not be known.
  const events = page.events.map((event) => shortened(shown(context, event) as PublicEvent));
  return { status: 200, json: { columns, steps: rows, events, next: page.next } } as const;
}

/** Rows of thousands of steps: names would be most of what is sent. */
function rowOf(step: SessionStep): readonly unknown[] {
  const { seq, runId, modelCallIndex, startedAt, durationMs, attempts, usage, flags, calls } = step;
  const { inputTokens = null, cacheReadTokens = null, outputTokens = null } = usage;
  const made = calls.map(({ name, outcome, durationMs: ms }) => [name, outcome, ms]);
  const tokens = [inputTokens, cacheReadTokens, outputTokens];
  const times = [step.modelMs, step.waitingMs];
  return [seq, runId, modelCallIndex, startedAt, durationMs, attempts, ...tokens, flags, made, ...times];
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

function withCacheLoss(record: TraceRecord): TraceRecord & { readonly cacheLoss?: CacheLoss } {
  const loss = record.type === "step" ? cacheLoss(record) : null;
  return loss === null ? record : { ...record, cacheLoss: loss };
}

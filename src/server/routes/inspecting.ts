/**
 * Details of a session beyond its public events: entries, blobs, the trace, and the requests to its model.
 */

import type { PublicEvent, Redact } from "../../index.js";
import {
  modelRequest,
  type ReplayOptions,
  type SessionStep,
  sessionSteps,
  sessionTracePage,
  type TracePageOptions,
  type TraceRecord,
} from "../../inspect.js";
import { type CacheLoss, cacheLoss } from "../../models/index.js";
import { estimateRequestTokens, findRequestDifference } from "../request-tokens.js";
import { bytesContent, responseContents } from "../response-schemas.js";
import type { Route, RouteRequest } from "../route.js";
import { authorizeSession, redactSecrets, type ServerContext } from "../server-context.js";
import { ServerError } from "../server-error.js";
import { integer, object, oneOf, string } from "../shape.js";
import { shortenEvent } from "../shorten-event.js";
import { findingRoutes } from "./find-text.js";
import { parseEntryPage } from "./paging.js";

const pageFields = {
  after: integer("The entry after which to continue.", 0, Number.MAX_SAFE_INTEGER),
  limit: integer("The maximum number of items.", 1, 500),
};
const pageQuery = object(pageFields);

const recordTypes = Object.keys({
  run_started: true,
  step: true,
  compaction: true,
  handoff: true,
  run_finished: true,
} satisfies Record<TraceRecord["type"], true>);

export const inspectingRoutes: readonly Route[] = [
  ...findingRoutes,
  {
    method: "GET",
    path: "/v1/sessions/:id/entries",
    action: "entries",
    scope: "prompt",
    ofSession: true,
    summary: "Entries of the log, as stored, with secrets masked.",
    query: pageQuery,
    responses: { 200: "{ entries, next }: `next` is the entry after which to continue, null at the end of the log" },
    content: { 200: responseContents.entries },
    handle: listEntries,
  },
  {
    method: "GET",
    path: "/v1/sessions/:id/blobs/:hash",
    action: "blobs",
    scope: "prompt",
    ofSession: true,
    summary: "The bytes of a blob, as an attachment. Secrets in text are masked.",
    responses: { 200: "application/octet-stream" },
    content: { 200: bytesContent },
    handle: readBlob,
  },
  {
    method: "GET",
    path: "/v1/sessions/:id/trace",
    action: "read",
    scope: "read",
    ofSession: true,
    summary:
      "The trace of a session, without the texts of models and tools. A step that could not read the previous step from its provider's cache has `cacheLoss`: the reason, the number of tokens that were charged again, and their cost at list prices. A page ends with a whole entry, so it may have a few more records than `limit`.",
    query: object({
      ...pageFields,
      runId: string("Only records of this run.", 200),
      type: oneOf("Only records of this type.", ...recordTypes),
    }),
    responses: { 200: "{ records, next }: `next` is the entry after which to continue, null at the end" },
    content: { 200: responseContents.trace },
    handle: readTrace,
  },
  {
    method: "GET",
    path: "/v1/sessions/:id/steps",
    action: "read",
    scope: "read",
    ofSession: true,
    summary:
      "The steps of a session, one short row each, whose cells are named by `columns`; and the events between them, with long texts truncated: runs, steers, compactions, restarts, late results, aborts, handoffs. The last page includes the active step.",
    query: pageQuery,
    responses: {
      200: "{ columns, steps, events, next }: `next` is the entry after which to continue, null at the end",
    },
    content: { 200: responseContents.steps },
    handle: listSteps,
  },
  {
    method: "GET",
    path: "/v1/sessions/:id/requests/:runId/:index",
    action: "requests",
    scope: "prompt",
    ofSession: true,
    summary:
      "The request of a model call exactly as it was sent, with secrets masked; the estimated tokens of its parts; and where it first differs from the previous step's request.",
    query: object({ attempt: integer("The number of the attempt. Default: the last one.", 1, 1_000_000) }),
    responses: {
      200: "{ request, tokens, difference }: `difference` is null if the request only adds to the previous one",
    },
    content: { 200: responseContents.request },
    handle: request,
  },
  {
    method: "POST",
    path: "/v1/sessions/:id/replay",
    action: "replay",
    scope: "run",
    ofSession: true,
    summary:
      "Replays the log with the current code and agent, without writing anything, and returns the first difference.",
    body: object({
      policy: oneOf(
        "present: policies are called again. recorded: their recorded decisions are used. Default: present.",
        "present",
        "recorded",
      ),
      prompt: oneOf(
        "recorded: changes of the prompt and the tools do not count as differences.",
        "present",
        "recorded",
      ),
    }),
    responses: { 200: "{ replay }" },
    content: { 200: responseContents.replay },
    async handle({ principal, params, body }, context) {
      const { requested } = await authorizeSession(context, principal, "replay", params.id ?? "");
      const agent = context.agents.get(requested.info?.agent ?? "");
      if (agent === undefined)
        throw new ServerError(
          "agent_mismatch",
          `The agent of session ${requested.id} is not in this process. Send the request to a process that has it.`,
        );
      const replay = await agent.session(requested.id).replay(body as Pick<ReplayOptions, "policy" | "prompt">);
      return { status: 200, json: { replay: redactSecrets(context, replay) } };
    },
  },
];

async function listEntries(routeRequest: RouteRequest, context: ServerContext) {
  const { requested } = await authorizeSession(
    context,
    routeRequest.principal,
    "entries",
    routeRequest.params.id ?? "",
  );
  const { after, limit } = parseEntryPage(routeRequest, context);
  const page = await context.settings.store.read(requested.id, after, limit);
  const next = page.length < limit ? null : (page.at(-1)?.seq ?? null);
  return { status: 200, json: { entries: redactSecrets(context, page), next } } as const;
}

/** Sent as an attachment, so that a browser never displays it: the content is untrusted. */
async function readBlob({ principal, params }: RouteRequest, context: ServerContext) {
  const { requested } = await authorizeSession(context, principal, "blobs", params.id ?? "");
  const hash = params.hash ?? "";
  const bytes = /^[0-9a-f]{64}$/.test(hash) ? await context.settings.store.getBlob(requested.id, hash) : null;
  if (bytes === null) throw new ServerError("not_found", "The session has no blob with this hash.");
  const redacted = redactBytes(bytes, context.settings.redact);
  const headers = {
    "content-type": "application/octet-stream",
    "content-disposition": `attachment; filename="${hash}"`,
  };
  return { status: 200, bytes: redacted, headers } as const;
}

/** Masks secrets in text. Other bytes stay as they are: a secret in a picture is not detected. */
function redactBytes(bytes: Uint8Array, redact: Redact): Uint8Array {
  const text = decodeText(bytes);
  if (text === null) return bytes;
  const redacted = redact(text);
  return redacted === text ? bytes : new TextEncoder().encode(redacted);
}

/** Null if the bytes are not text. Stored text may have lone surrogates, which are not valid UTF-8; pictures and archives contain zeros. */
function decodeText(bytes: Uint8Array): string | null {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return bytes.includes(0) ? null : new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
  }
}

async function readTrace(routeRequest: RouteRequest, context: ServerContext) {
  const { requested } = await authorizeSession(context, routeRequest.principal, "read", routeRequest.params.id ?? "");
  const { store, redact } = context.settings;
  const { runId, type } = routeRequest.query as Pick<TracePageOptions, "runId" | "type">;
  const filter = { ...(runId === undefined ? {} : { runId }), ...(type === undefined ? {} : { type }) };
  const page = { redact, ...parseEntryPage(routeRequest, context), ...filter };
  const { records, next } = await sessionTracePage(store, requested.id, page);
  return { status: 200, json: { records: records.map(addCacheLoss), next } } as const;
}

const columns = [
  ...["seq", "runId", "index", "startedAt", "ms", "attempts", "in", "read", "out", "flags", "calls", "model", "waited"],
] as const;

/** The events that a list of steps shows between the steps. */
const listedEventTypes: readonly PublicEvent["type"][] = [
  ...["run_queued", "run_started", "steered", "compacted", "restarted", "late_result", "abort_requested"],
  ...["handed_off", "final"],
] as const;

async function listSteps(routeRequest: RouteRequest, context: ServerContext) {
  const { requested } = await authorizeSession(context, routeRequest.principal, "read", routeRequest.params.id ?? "");
  const page = await sessionSteps(context.settings.store, requested.id, {
    ...parseEntryPage(routeRequest, context),
    asOf: Date.now(),
    events: listedEventTypes,
  });
  const rows = redactSecrets(context, page.steps.map(toStepRow));
  // Secrets are redacted before a text is truncated, because a partial secret would not be recognized.
  const events = page.events.map((event) => shortenEvent(redactSecrets(context, event) as PublicEvent));
  return { status: 200, json: { columns, steps: rows, events, next: page.next } } as const;
}

/** Formats a step as a row without names: with thousands of steps, names would be most of the response. */
function toStepRow(step: SessionStep): readonly unknown[] {
  const { seq, runId, modelCallIndex, startedAt, durationMs, attempts, usage, flags, calls } = step;
  const { inputTokens = null, cacheReadTokens = null, outputTokens = null } = usage;
  const callCells = calls.map(({ name, outcome, durationMs: ms }) => [name, outcome, ms]);
  const tokens = [inputTokens, cacheReadTokens, outputTokens];
  const times = [step.modelMs, step.waitingMs];
  return [seq, runId, modelCallIndex, startedAt, durationMs, attempts, ...tokens, flags, callCells, ...times];
}

async function request({ principal, params, query }: RouteRequest, context: ServerContext) {
  const { requested } = await authorizeSession(context, principal, "requests", params.id ?? "");
  const attempt = query.attempt as number | undefined;
  const modelCallIndex = /^[1-9]\d{0,8}$/.test(params.index ?? "") ? Number(params.index) : null;
  const loggedRequest =
    modelCallIndex === null
      ? null
      : await modelRequest(context.settings.store, requested.id, {
          runId: params.runId ?? "",
          modelCallIndex,
          ...(attempt === undefined ? {} : { attempt }),
        });
  if (loggedRequest === null) throw new ServerError("not_found", "The session has no such model request.");
  const { request, before } = loggedRequest;
  const responseBody = {
    request: redactSecrets(context, request),
    tokens: estimateRequestTokens(request),
    difference: findRequestDifference(request, before),
  };
  return { status: 200, json: responseBody } as const;
}

function addCacheLoss(record: TraceRecord): TraceRecord & { readonly cacheLoss?: CacheLoss } {
  const loss = record.type === "step" ? cacheLoss(record) : null;
  return loss === null ? record : { ...record, cacheLoss: loss };
}

/**
 * Reading a session's events: page by page, or as a stream.
 */

import { type FamilyItem, PawlError } from "../../index.js";
import { findOpenRun } from "../../inspect.js";
import { cursorAfter, formatCursor, parseCursor, startCursor } from "../../stream/cursor.js";
import type { LiveSource } from "../client/index.js";
import { type LiveSourceState, startFamilyStream } from "../family-stream.js";
import { encodeControlFrame } from "../frames.js";
import type { AskedSession, Principal } from "../principal.js";
import { eventStreamContent, responseContents } from "../response-schemas.js";
import type { Route, RouteRequest } from "../route.js";
import type { RouteResponse } from "../route-response.js";
import {
  authorizeSession,
  isAllowed,
  type ReadableSession,
  redactSecrets,
  type ServerContext,
} from "../server-context.js";
import { ServerError } from "../server-error.js";
import { loadSessionInfo } from "../session-info.js";
import { boolean, integer, object, oneOf, string } from "../shape.js";
import type { Sink } from "../sink.js";
import { type OpenStream, type WatchOptions, type WatchSource, watchSession } from "../watch.js";
import { parseEventCursor } from "./paging.js";

export const watchingRoutes: readonly Route[] = [
  {
    method: "GET",
    path: "/v1/sessions/:id/events",
    action: "read",
    scope: "read",
    ofSession: true,
    summary: "A page of the public events of a session.",
    query: object({
      after: string("The cursor after which to continue, `seq.index`.", 40),
      limit: integer("The maximum number of events.", 1, 500),
      runId: string("Only events of this run.", 200),
      type: string("Only events of this type.", 100),
    }),
    responses: { 200: "{ events, next }: `next` is the cursor of the next page, null at the end of the log" },
    content: { 200: responseContents.events },
    handle: listEvents,
  },
  {
    method: "GET",
    path: "/v1/sessions/:id/stream",
    action: "read",
    scope: "read",
    ofSession: true,
    summary:
      "Streams a session as server-sent events: first the log, then live items. `Last-Event-ID` is the cursor after which to continue.",
    query: object({
      after: string("The cursor after which to continue: an id of this stream, `seq.index`.", 256 * 1_024),
      runId: string("Only items of this run.", 200),
      deltas: boolean("0: only logged events."),
      until: oneOf("The stream ends with the run: `runId`, or the active run.", "run"),
      children: boolean(
        "1: includes descendant sessions. Each item names its session, and ids are cursors in all of them.",
      ),
    }),
    responses: { 200: "text/event-stream" },
    content: { 200: eventStreamContent },
    handle: openStream,
  },
];

/** The maximum number of events that a filtered page examines, even if it is not full. */
const maxExamined = 5_000;

async function listEvents({ principal, params, query }: RouteRequest, context: ServerContext) {
  const { session } = await authorizeSession(context, principal, "read", params.id ?? "");
  const {
    after,
    limit = 100,
    runId,
    type,
  } = query as {
    readonly [Name in "after" | "runId" | "type"]?: string;
  } & { readonly limit?: number };
  const maxResults = Math.min(limit, context.settings.limits.maxPage);
  const events: unknown[] = [];
  let cursor = parseEventCursor(after) ?? startCursor;
  let examined = 0;
  const filter = runId === undefined ? {} : { runId };
  for await (const event of session.events({ follow: false, after: formatCursor(cursor), ...filter })) {
    if (!("seq" in event)) continue;
    cursor = cursorAfter(event);
    examined += 1;
    if (type === undefined || event.type === type) events.push(redactSecrets(context, event));
    if (events.length === maxResults || examined === maxExamined)
      return { status: 200, json: { events, next: formatCursor(cursor) } } as const;
  }
  return { status: 200, json: { events, next: null } } as const;
}

async function openStream(routeRequest: RouteRequest, context: ServerContext): Promise<RouteResponse> {
  const { principal, params, query, request } = routeRequest;
  const readable = await authorizeSession(context, principal, "read", params.id ?? "");
  const lastEventId = request.headers.get("last-event-id") ?? (query.after as string | undefined);
  if (query.children === true) return openFamilyStream(routeRequest, context, readable, lastEventId);
  const source = await createWatchSource(context, readable, lastEventId, query);
  return createStreamResponse(routeRequest, context, createReadCheck(context, principal, readable.requested), (sink) =>
    watchSession(source.source, source.options, sink),
  );
}

export type WatchQuery = { readonly runId?: string; readonly deltas?: boolean; readonly until?: "run" };

/** Creates the source of a session's stream. @param lastEventId the cursor after which the reader continues */
export async function createWatchSource(
  context: ServerContext,
  readable: ReadableSession,
  lastEventId: string | undefined,
  { runId, deltas = true, until }: WatchQuery,
): Promise<{ readonly source: WatchSource; readonly options: WatchOptions }> {
  const cursor = parseEventCursor(lastEventId);
  const { summary } = readable;
  const { sessionId: id, seq, status } = summary;
  const isReset = cursor !== null && cursor.seq > seq;
  const after = isReset ? null : cursor;
  const source = {
    hub: () => context.hubs.getOrOpen(id, summary),
    opening: async () =>
      encodeControlFrame({ type: "open", seq, status, live: await context.hubs.findLiveSource(id, summary) }),
    maxUnsent: context.settings.limits.maxUnsentBytes,
  };
  // Null if the run has ended, or if no run is in progress.
  const untilRunId = until === undefined ? undefined : await findRunToWatch(context, readable, runId);
  return { source, options: { after, isReset, runId, deltas, until: untilRunId } };
}

/** Uses the state of the session's agent, if it is in this process. */
async function findRunToWatch(
  { agents, settings }: ServerContext,
  { requested: { id, info }, openRunIds }: ReadableSession,
  runId: string | undefined,
): Promise<string | null> {
  if (openRunIds !== null) return openRunIds.find((openRunId) => runId === undefined || openRunId === runId) ?? null;
  const state = await agents
    .get(info?.agent ?? "")
    ?.session(id)
    .state();
  return findOpenRun(settings.store, id, runId, state);
}

async function openFamilyStream(
  routeRequest: RouteRequest,
  context: ServerContext,
  readable: ReadableSession,
  after: string | undefined,
): Promise<RouteResponse> {
  const { runId, deltas, until } = routeRequest.query as WatchQuery;
  if ((runId ?? deltas ?? until) !== undefined)
    throw new ServerError(
      "bad_input",
      "The query parameters runId, deltas and until cannot be combined with children.",
    );
  const { id } = readable.requested;
  const agent = await context.findReadingAgent(id, readable.requested.info);
  if (agent === undefined)
    throw new ServerError(
      "agent_mismatch",
      `The agent of session ${id} is not in this process. Send the request to a process that has it.`,
    );
  const connection = new AbortController();
  const { seq, status } = readable.summary;
  const live: LiveSourceState = {
    latest: await context.hubs.findLiveSource(id, readable.summary),
    onChange: () => {},
  };
  const afterOption = after === undefined || after === "" ? {} : { after };
  const items = agent.session(id).events({
    ...afterOption,
    children: true,
    signal: connection.signal,
    itemsOf: (session, { after, signal }) => {
      const onLive =
        session.id === id ? { onLive: (liveSource: LiveSource) => updateLiveSource(live, liveSource) } : {};
      return context.links.items(session, parseCursor(after) ?? startCursor, { signal, ...onLive });
    },
  });
  const mayRead = async (memberId: string) => {
    const summary = await context.settings.store.describe(memberId);
    if (summary === null) return false;
    return isAllowed(context, routeRequest.principal, "read", {
      id: memberId,
      info: await loadSessionInfo(context.settings.store, summary),
    });
  };
  // Rejects an invalid cursor before the stream begins.
  const first = await rejectBadCursor(items, connection);
  const deps = { redact: context.settings.redact, mayRead, live };
  const opening = { type: "open", seq, status } as const;
  try {
    return createStreamResponse(
      routeRequest,
      context,
      createReadCheck(context, routeRequest.principal, readable.requested),
      (sink) => startFamilyStream(first, opening, connection, deps, sink),
    );
  } catch (error) {
    // The principal has too many streams: the reading of the first item ends.
    connection.abort();
    throw error;
  }
}

function updateLiveSource(state: LiveSourceState, liveSource: LiveSource): void {
  if (state.latest === liveSource) return;
  state.latest = liveSource;
  state.onChange(liveSource);
}

/** Requests the first item, which shows whether the cursor is valid, but does not wait until it is available. */
async function rejectBadCursor(
  items: AsyncGenerator<FamilyItem, void, undefined>,
  connection: AbortController,
): Promise<AsyncIterable<FamilyItem>> {
  const firstItem = items.next();
  const failure = firstItem.then(
    () => null,
    (error: unknown) => error,
  );
  const error = await Promise.race([failure, new Promise<null>((resolve) => setImmediate(() => resolve(null)))]);
  if (error instanceof PawlError && error.code === "bad_input") {
    connection.abort();
    throw new ServerError(
      "bad_cursor",
      "Invalid cursor: for a stream with children, send the id of one of its events.",
    );
  }
  return (async function* () {
    for (let next = await firstItem; next.done !== true; next = await items.next()) yield next.value;
  })();
}

/**
 * Creates a stream that counts towards the principal's limit, and ends when the principal may no longer read.
 * @param mayRead whether the principal may read the stream's content
 */
export function createStreamResponse(
  { principal, isStillAuthorized }: Pick<RouteRequest, "principal" | "isStillAuthorized">,
  context: ServerContext,
  mayRead: AccessCheck,
  open: (sink: Sink) => OpenStream,
): RouteResponse {
  const releaseSlot = context.usage.acquireStream(principal.id);
  const canStay = combineChecks(isStillAuthorized, mayRead);
  return {
    status: 200,
    stream(sink) {
      const opened = context.streams.open(sink, canStay, open);
      sink.onClose(releaseSlot);
      return opened;
    },
  };
}

type AccessCheck = () => Promise<boolean>;

/** A separate function, like `createReadCheck`, so that an open stream does not retain the objects that it was opened with. */
function combineChecks(first: AccessCheck, second: AccessCheck): AccessCheck {
  return async () => (await first()) && (await second());
}

export function createReadCheck(context: ServerContext, principal: Principal, asked: AskedSession): AccessCheck {
  return () => isAllowed(context, principal, "read", asked);
}

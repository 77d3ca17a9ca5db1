/**
 * What is to be seen of a session: its events by page, and its stream.
 */

import { type FamilyItem, findOpenRun, PawlError, type PublicEvent } from "../../index.js";
import { beginning, type Cursor, cursorAfter, formatCursor, parseCursor } from "../../stream/cursor.js";
import type { Answer } from "../answer.js";
import { answers, eventStreamContent } from "../answer-shapes.js";
import type { LiveSource } from "../client/index.js";
import { familyStream, type LiveNews } from "../family-stream.js";
import { controlFrame } from "../frames.js";
import type { AskedSession, Principal } from "../principal.js";
import type { Asked, Route } from "../route.js";
import { isAllowed, type ReadSession, type ServerContext, sessionFor, shown } from "../server-context.js";
import { ServerError } from "../server-error.js";
import { sessionInfo } from "../session-info.js";
import { flag, objectOf, oneOf, text, whole } from "../shape.js";
import type { Sink } from "../sink.js";
import { type OpenStream, type WatchOptions, type WatchSource, watch } from "../watch.js";
import { eventCursor } from "./paging.js";

export const watchingRoutes: readonly Route[] = [
  {
    method: "GET",
    path: "/v1/sessions/:id/events",
    action: "read",
    scope: "read",
    ofSession: true,
    about: "A page of the public events of a session.",
    query: objectOf({
      after: text("The place to go on from, `seq.index`.", 40),
      limit: whole("The most events.", 1, 500),
      runId: text("Only events of this run.", 200),
      type: text("Only events of this type.", 100),
    }),
    gives: { 200: "{ events, next }: `next` is the place to go on from, null at the end of the log" },
    answers: { 200: answers.events },
    handle: page,
  },
  {
    method: "GET",
    path: "/v1/sessions/:id/stream",
    action: "read",
    scope: "read",
    ofSession: true,
    about:
      "The stream of a session, as server-sent events: the log first, then live. `Last-Event-ID` is the place to go on from.",
    query: objectOf({
      after: text("The place to go on from: an id of this stream, `seq.index`.", 256 * 1_024),
      runId: text("Only what belongs to this run.", 200),
      deltas: flag("0: only events of the log."),
      until: oneOf("The stream ends with the run: that of `runId`, or the one under way.", "run"),
      children: flag(
        "1: the sessions below, too. Each item says of which session it is, and ids are places in all of them.",
      ),
    }),
    gives: { 200: "text/event-stream" },
    answers: { 200: eventStreamContent },
    handle: stream,
  },
];

/** Events that a page with a filter looks at before it is given out, although it is not full. */
const mostLookedAt = 5_000;

async function page({ principal, params, query }: Asked, context: ServerContext) {
  const { session } = await sessionFor(context, principal, "read", params.id ?? "");
  const {
    after,
    limit = 100,
    runId,
    type,
  } = query as {
    readonly [Name in "after" | "runId" | "type"]?: string;
  } & { readonly limit?: number };
  const most = Math.min(limit, context.settings.limits.maxPage);
  const events: unknown[] = [];
  let cursor = eventCursor(after) ?? beginning;
  let looked = 0;
  const filter = runId === undefined ? {} : { runId };
  for await (const event of session.events({ follow: false, after: formatCursor(cursor), ...filter })) {
    if (!("seq" in event)) continue;
    cursor = cursorAfter(event);
    looked += 1;
    if (type === undefined || event.type === type) events.push(shown(context, event));
    if (events.length === most || looked === mostLookedAt)
      return { status: 200, json: { events, next: formatCursor(cursor) } } as const;
  }
  return { status: 200, json: { events, next: null } } as const;
}

async function stream(asked: Asked, context: ServerContext): Promise<Answer> {
  const { principal, params, query, request } = asked;
  const read = await sessionFor(context, principal, "read", params.id ?? "");
  const given = request.headers.get("last-event-id") ?? (query.after as string | undefined);
  if (query.children === true) return streamOfFamily(asked, context, read, given);
  const source = await watchSource(context, read, given, query);
  return streamed(asked, context, readRule(context, principal, read.asked), (sink) =>
    watch(source.source, source.options, sink),
  );
}

export type WatchedQuery = { readonly runId?: string; readonly deltas?: boolean; readonly until?: "run" };

/** What a stream of one session is made of. @param given the cursor that the reader goes on from */
export async function watchSource(
  context: ServerContext,
  read: ReadSession,
  given: string | undefined,
  { runId, deltas = true, until }: WatchedQuery,
): Promise<{ readonly source: WatchSource; readonly options: WatchOptions }> {
  const cursor = eventCursor(given);
  const { seq, status } = await read.session.state();
  const isReset = cursor !== null && cursor.seq > seq;
  const after = isReset ? null : cursor;
  const { id } = read.asked;
  const source = {
    hub: () => context.hubs.of(id),
    logged: (from: Cursor | null, run: string | undefined) => logged(context, read, from, run),
    opening: async () => controlFrame({ type: "open", seq, status, live: await context.hubs.live(id) }),
    mostUnsent: context.settings.limits.maxUnsentBytes,
  };
  // Null if the run has ended, or if none is under way.
  const ending = until === undefined ? undefined : await findOpenRun(context.settings.store, id, runId);
  return { source, options: { after, isReset, runId, deltas, until: ending } };
}

async function streamOfFamily(
  asked: Asked,
  context: ServerContext,
  read: ReadSession,
  after: string | undefined,
): Promise<Answer> {
  const { runId, deltas, until } = asked.query as WatchedQuery;
  if ((runId ?? deltas ?? until) !== undefined)
    throw new ServerError("bad_input", "The query: runId, deltas and until do not go with children.");
  const { id } = read.asked;
  const agent = await context.agentFor(id, read.asked.info);
  if (agent === undefined)
    throw new ServerError("agent_mismatch", `The agent of session ${id} is not in this process.`);
  const left = new AbortController();
  const { seq, status } = await read.session.state();
  const live: LiveNews = { latest: await context.hubs.live(id), onChange: () => {} };
  const place = after === undefined || after === "" ? {} : { after };
  const items = agent.session(id).events({
    ...place,
    children: true,
    signal: left.signal,
    itemsOf: (session, { after, signal }) => {
      const onLive = session.id === id ? { onLive: (found: LiveSource) => tellLive(live, found) } : {};
      return context.links.items(session, parseCursor(after) ?? beginning, { signal, ...onLive });
    },
  });
  const mayRead = async (one: string) => {
    const summary = await context.settings.store.describe(one);
    if (summary === null) return false;
    return isAllowed(context, asked.principal, "read", {
      id: one,
      info: await sessionInfo(context.settings.store, summary),
    });
  };
  // A cursor that is none is refused before the stream begins.
  const first = await refusingBadCursor(items, left);
  const rules = { redact: context.settings.redact, mayRead, live };
  const opening = { type: "open", seq, status } as const;
  return streamed(asked, context, readRule(context, asked.principal, read.asked), (sink) =>
    familyStream(first, opening, left, rules, sink),
  );
}

function tellLive(news: LiveNews, found: LiveSource): void {
  if (news.latest === found) return;
  news.latest = found;
  news.onChange(found);
}

/** Asks for the first item, which tells whether the place is one; it waits for no item that is not there yet. */
async function refusingBadCursor(
  items: AsyncGenerator<FamilyItem, void, undefined>,
  left: AbortController,
): Promise<AsyncIterable<FamilyItem>> {
  const asking = items.next();
  const refused = asking.then(
    () => null,
    (error: unknown) => error,
  );
  const error = await Promise.race([refused, new Promise<null>((resolve) => setImmediate(() => resolve(null)))]);
  if (error instanceof PawlError && error.code === "bad_input") {
    left.abort();
    throw new ServerError("bad_cursor", "A place in a stream with children is the id of one of its events.");
  }
  return (async function* () {
    for (let next = await asking; next.done !== true; next = await items.next()) yield next.value;
  })();
}

/**
 * A stream that counts among those of the principal, and ends when the principal may no longer read.
 * @param mayRead whether the principal may read what the stream shows
 */
export function streamed(
  { principal, isStillLetIn }: Pick<Asked, "principal" | "isStillLetIn">,
  context: ServerContext,
  mayRead: Rule,
  open: (sink: Sink) => OpenStream,
): Answer {
  const giveBack = context.usage.takeStream(principal.id);
  const mayStay = bothOf(isStillLetIn, mayRead);
  return {
    status: 200,
    stream(sink) {
      const opened = context.streams.open(sink, mayStay, open);
      sink.onClose(giveBack);
      return opened;
    },
  };
}

type Rule = () => Promise<boolean>;

/** Like `readRule`, a function of its own: an open stream does not hold what it was opened with. */
function bothOf(first: Rule, second: Rule): Rule {
  return async () => (await first()) && (await second());
}

export function readRule(context: ServerContext, principal: Principal, asked: AskedSession): Rule {
  return () => isAllowed(context, principal, "read", asked);
}

async function* logged(
  context: ServerContext,
  { session }: ReadSession,
  cursor: Cursor | null,
  runId: string | undefined,
): AsyncGenerator<PublicEvent, void, undefined> {
  const filter = runId === undefined ? {} : { runId };
  for await (const event of session.events({ follow: false, after: formatCursor(cursor ?? beginning), ...filter }))
    if ("seq" in event) yield shown(context, event) as PublicEvent;
}

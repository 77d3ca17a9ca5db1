/**
 * What is to be seen of a session: its events by page, and its stream.
 */
import { PawlError, type PublicEvent, type State, type Store } from "../../index.js";
import { behindEntry } from "../client/view.js";
import { controlFrame } from "../frames.js";
import type { Asked, Route } from "../route.js";
import { isAllowed, type ReadSession, type ServerContext, sessionFor, shown } from "../server-context.js";
import { flag, objectOf, oneOf, text, whole } from "../shape.js";
import { type OpenStream, watch } from "../watch.js";
import { eventPlace } from "./paging.js";

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
      after: text("The place to go on from, `seq.index`.", 40),
      runId: text("Only what belongs to this run.", 200),
      deltas: flag("0: only events of the log."),
      until: oneOf("The stream ends with the run: that of `runId`, or the one under way.", "run"),
    }),
    gives: { 200: "text/event-stream" },
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
  let place = eventPlace(after);
  let looked = 0;
  const filter = runId === undefined ? {} : { runId };
  for await (const event of session.events({ follow: false, after: place ?? 0, ...filter })) {
    if (!("seq" in event)) continue;
    place = `${event.seq}.${event.index}`;
    looked += 1;
    if (type === undefined || event.type === type) events.push(shown(context, event));
    if (events.length === most || looked === mostLookedAt)
      return { status: 200, json: { events, next: place } } as const;
  }
  return { status: 200, json: { events, next: null } } as const;
}

async function stream(asked: Asked, context: ServerContext) {
  const { principal, params, query, request } = asked;
  const read = await sessionFor(context, principal, "read", params.id ?? "");
  const {
    runId,
    deltas = true,
    until,
  } = query as {
    readonly runId?: string;
    readonly deltas?: boolean;
    readonly until?: "run";
  };
  const given = eventPlace(request.headers.get("last-event-id") ?? (query.after as string | undefined));
  const { seq, status } = await read.session.state();
  const isReset = given !== null && Number(given.split(".")[0]) > seq;
  const after = isReset ? null : given === null || given.includes(".") ? given : behindEntry(given);
  const opened = {
    after,
    isReset,
    runId,
    deltas,
    until: until === undefined ? undefined : await runToWatch(context, read, runId),
  };
  const giveBack = context.usage.takeStream(principal.id);
  const { id } = read.asked;
  const source = {
    hub: () => context.hubs.of(id),
    logged: (place: string | null, run: string | undefined) => logged(context, read, place, run),
    opening: async () => controlFrame({ type: "open", seq, status, live: await context.hubs.live(id) }),
    mostUnsent: context.settings.limits.maxUnsentBytes,
  };
  const mayStay = () => isAllowed(context, principal, "read", read.asked);
  return {
    status: 200,
    stream(sink): OpenStream {
      const open = watch(source, opened, sink);
      const forget = context.streams.add(open, mayStay);
      sink.onClose(() => {
        forget();
        giveBack();
      });
      return open;
    },
  } as const satisfies Awaited<ReturnType<Route["handle"]>>;
}

/** The run whose end ends the stream; null if it has ended, or if none is under way. */
async function runToWatch(
  { settings: { store } }: ServerContext,
  { session }: ReadSession,
  runId: string | undefined,
): Promise<string | null> {
  if (runId === undefined) return runUnderWay(await session.state(), await store.inbox(session.id));
  const result = await session.result(runId).catch((error: unknown) => {
    if (error instanceof PawlError && error.code === "no_such_run") return undefined;
    throw error;
  });
  if (result === undefined) return null;
  return result === null || result.status === "awaiting_human" || result.status === "interrupted" ? runId : null;
}

/** The request of a run that nobody has taken yet is in the inbox. */
function runUnderWay(state: State, posted: Awaited<ReturnType<Store["inbox"]>>): string | null {
  if (state.status !== "idle" && !atRest.has(state.status)) return state.runId;
  for (const { body } of posted) if (body.type === "input") return body.runId;
  return null;
}

const atRest: ReadonlySet<string> = new Set(["completed", "failed", "aborted"]);

async function* logged(
  context: ServerContext,
  { session }: ReadSession,
  place: string | null,
  runId: string | undefined,
): AsyncGenerator<PublicEvent, void, undefined> {
  const filter = runId === undefined ? {} : { runId };
  for await (const event of session.events({ follow: false, after: place ?? 0, ...filter }))
    if ("seq" in event) yield shown(context, event) as PublicEvent;
}

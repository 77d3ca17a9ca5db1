/**
 * `GET /v1/live/ID`: streams a session that this process holds to the other processes of this server (SEC-19).
 *
 * 1. Only a process with the secret gets a response. No token gives access to this route.
 * 2. Items are sent unredacted: each process redacts what it shows, and can read the store anyway.
 * 3. The stream ends at most a minute after this process has released the session.
 */

import type { Session } from "../../index.js";
import { formatCursor, startCursor } from "../../stream/cursor.js";
import { type EventFormat, startEventStream } from "../event-stream.js";
import { explainFailure } from "../explain-failure.js";
import { eventStreamContent } from "../response-schemas.js";
import type { Route, RouteRequest } from "../route.js";
import { parseEventCursor } from "../routes/paging.js";
import type { ServerContext } from "../server-context.js";
import { ServerError } from "../server-error.js";
import { object, string } from "../shape.js";
import type { LinkFrame } from "./link-frames.js";

export const liveRoute: Route = {
  method: "GET",
  path: "/v1/live/:id",
  action: "live",
  scope: null,
  summary:
    "For the other processes of this server: streams a session that this process holds. Needs their shared secret.",
  query: object({ after: string("The cursor to continue from, `seq.index`.", 40) }),
  responses: { 200: "text/event-stream: logged events and live items" },
  content: { 200: eventStreamContent },
  handle: streamLiveItems,
};

const liveFormat: EventFormat = {
  headers: {},
  formatFailure: () => ({ type: "broken" }),
  endMarker: null,
  earlyEnd: null,
};

async function streamLiveItems(routeRequest: RouteRequest, context: ServerContext) {
  const { request, params, query } = routeRequest;
  const { peers, store } = context.settings;
  const id = params.id ?? "";
  const authorization = request.headers.get("authorization");
  const { address = null } = peers ?? {};
  if (peers === null || address === null || !peers.passes.isValid(authorization, address, id, Date.now()))
    throw new ServerError(
      "unauthorized",
      "This route is for the other processes of this server. See the option `peers`.",
    );
  const findHoldingAgent = async () => {
    const { holder = null, info = null } = (await store.describe(id)) ?? {};
    return holder === null || !context.links.isLocalHolder(holder) ? undefined : context.findReadingAgent(id, info);
  };
  const session = (await findHoldingAgent())?.session(id);
  if (session === undefined) throw new ServerError("not_found", "This process does not hold the session.");
  const after = formatCursor(parseEventCursor(query.after as string | undefined) ?? startCursor);
  const connection = new AbortController();
  return {
    status: 200,
    stream(sink) {
      const openStream = startEventStream(
        readLinkFrames(session, after, connection.signal),
        connection,
        sink,
        liveFormat,
        (error) => explainFailure(context, routeRequest, "live", error, id).message,
      );
      const streamClosed = context.loneRuns?.streamOpened(id);
      const untrackStream = context.peerStreams.add(openStream, async () => (await findHoldingAgent()) !== undefined);
      sink.onClose(() => {
        untrackStream();
        streamClosed?.();
      });
      return openStream;
    },
  } as const satisfies Awaited<ReturnType<Route["handle"]>>;
}

async function* readLinkFrames(
  session: Session,
  after: string,
  signal: AbortSignal,
): AsyncGenerator<LinkFrame, void, undefined> {
  yield { type: "open" };
  // A snapshot replaces the items that were dropped.
  for await (const item of session.events({ after, joinDeltas: true, signal })) if (item.type !== "lagged") yield item;
}

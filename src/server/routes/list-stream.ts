/**
 * One stream for a whole page: changes in the list of sessions, the number of waiting calls, and optionally one session. It exists
 * because browsers allow only few connections to a host.
 */

import type { ListFrame } from "../client/index.js";
import { createByeFrame, encodeControlFrame, heartbeatFrame, retryFrame } from "../frames.js";
import type { ListWatcher } from "../list-watch.js";
import type { Principal } from "../principal.js";
import { eventStreamContent } from "../response-schemas.js";
import type { Route, RouteRequest } from "../route.js";
import type { RouteResponse } from "../route-response.js";
import { authorizeSession, isAllowed, type ServerContext } from "../server-context.js";
import { ServerError } from "../server-error.js";
import { boolean, object, string } from "../shape.js";
import type { Sink } from "../sink.js";
import { type OpenStream, watchSession } from "../watch.js";
import { createReadCheck, createStreamResponse, createWatchSource } from "./watching.js";

export const listStreamRoutes: readonly Route[] = [
  {
    method: "GET",
    path: "/v1/stream",
    action: "list",
    scope: "read",
    summary:
      "Streams changes in the list of sessions and in the number of waiting calls, as server-sent events; and optionally the stream of one session, whose cursors are the ids.",
    query: object({
      session: string("The session to include.", 512),
      after: string("The cursor in that session after which to continue, `seq.index`.", 40),
      deltas: boolean("0: only logged events of the session."),
    }),
    responses: { 200: "text/event-stream" },
    content: { 200: eventStreamContent },
    handle: openListStream,
  },
];

async function openListStream(routeRequest: RouteRequest, context: ServerContext): Promise<RouteResponse> {
  const { principal, query, request } = routeRequest;
  const { session, after, deltas } = query as {
    readonly session?: string;
    readonly after?: string;
    readonly deltas?: boolean;
  };
  const canList = () => isAllowed(context, principal, "list", null);
  if (!(await canList())) throw new ServerError("forbidden", "You are not allowed to list sessions.");
  if (session === undefined) {
    if (after !== undefined)
      throw new ServerError("bad_input", "The query parameter after needs the parameter session.");
    return createStreamResponse(routeRequest, context, canList, (sink) => watchList(context, principal, sink, null));
  }
  const readable = await authorizeSession(context, principal, "read", session);
  const cursorText = request.headers.get("last-event-id") ?? after;
  const { source, options } = await createWatchSource(
    context,
    readable,
    cursorText,
    deltas === undefined ? {} : { deltas },
  );
  const canRead = createReadCheck(context, principal, readable.requested);
  const canStay = async () => (await canList()) && (await canRead());
  return createStreamResponse(routeRequest, context, canStay, (sink) =>
    watchList(context, principal, sink, () => watchSession(source, options, sink)),
  );
}

/** @param openSession opens the stream of a session on the same sink; null without a session */
function watchList(
  context: ServerContext,
  principal: Principal,
  sink: Sink,
  openSession: (() => OpenStream) | null,
): OpenStream {
  const sessionStream = openSession === null ? createPlainStream(sink) : openSession();
  let isOpen = false;
  const notify = (frame: ListFrame): void => {
    // Earlier changes are in the list that the client loads after the first frame.
    isOpen ||= frame.type === "list_open";
    if (!isOpen) return;
    if (sink.unsentBytes() > context.settings.limits.maxUnsentBytes) sessionStream.bye("slow");
    else sink.write(encodeControlFrame(frame));
  };
  const watcher: ListWatcher = {
    notify,
    canRead: (id, info) => isAllowed(context, principal, "read", { id, info }),
    canAnswer: principal.scopes.includes("approve")
      ? (id, info) => isAllowed(context, principal, "approvals", { id, info })
      : null,
  };
  const approvalCount = context.listWatch.addWatcher(watcher);
  sink.onClose(() => context.listWatch.removeWatcher(watcher));
  approvalCount.then(
    (approvals) => notify({ type: "list_open", approvals }),
    () => sessionStream.bye("error"),
  );
  return sessionStream;
}

function createPlainStream(sink: Sink): OpenStream {
  let isClosed = false;
  sink.onClose(() => {
    isClosed = true;
  });
  sink.write(retryFrame);
  return {
    bye(why, retryMs) {
      if (isClosed) return;
      sink.write(createByeFrame(why, retryMs));
      sink.end();
    },
    heartbeat() {
      if (!isClosed) sink.write(heartbeatFrame);
    },
  };
}

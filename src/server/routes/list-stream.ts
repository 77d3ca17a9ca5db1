/**
 * One stream for a whole page: what changes in the list of sessions, how many calls wait, and one session if wanted. A
 * browser has few connections to a host.
 */

import type { Answer } from "../answer.js";
import { eventStreamContent } from "../answer-shapes.js";
import type { ListFrame } from "../client/index.js";
import { beatFrame, byeFrame, controlFrame, retryFrame } from "../frames.js";
import type { ListWatcher } from "../list-watch.js";
import type { Principal } from "../principal.js";
import type { Asked, Route } from "../route.js";
import { isAllowed, type ServerContext, sessionFor } from "../server-context.js";
import { ServerError } from "../server-error.js";
import { flag, objectOf, text } from "../shape.js";
import type { Sink } from "../sink.js";
import { type OpenStream, watch } from "../watch.js";
import { readRule, streamed, watchSource } from "./watching.js";

export const listStreamRoutes: readonly Route[] = [
  {
    method: "GET",
    path: "/v1/stream",
    action: "list",
    scope: "read",
    about:
      "What changes in the list of sessions and in the number of calls that wait, as server-sent events; and a session, as its own stream tells it. Ids are those of the session.",
    query: objectOf({
      session: text("The session to tell of.", 512),
      after: text("The place in that session to go on from, `seq.index`.", 40),
      deltas: flag("0: only events of the session's log."),
    }),
    gives: { 200: "text/event-stream" },
    answers: { 200: eventStreamContent },
    handle: stream,
  },
];

async function stream(asked: Asked, context: ServerContext): Promise<Answer> {
  const { principal, query, request } = asked;
  const { session, after, deltas } = query as {
    readonly session?: string;
    readonly after?: string;
    readonly deltas?: boolean;
  };
  const mayList = () => isAllowed(context, principal, "list", null);
  if (!(await mayList())) throw new ServerError("forbidden", "You may not list sessions here.");
  if (session === undefined) {
    if (after !== undefined) throw new ServerError("bad_input", "The query has after, but no session.");
    return streamed(asked, context, mayList, (sink) => withList(context, principal, sink, null));
  }
  const read = await sessionFor(context, principal, "read", session);
  const given = request.headers.get("last-event-id") ?? after;
  const { source, options } = await watchSource(context, read, given, deltas === undefined ? {} : { deltas });
  const mayRead = readRule(context, principal, read.asked);
  const mayStay = async () => (await mayList()) && (await mayRead());
  return streamed(asked, context, mayStay, (sink) =>
    withList(context, principal, sink, () => watch(source, options, sink)),
  );
}

/** @param openSession opens the stream of a session on the same sink; null: there is none */
function withList(
  context: ServerContext,
  principal: Principal,
  sink: Sink,
  openSession: (() => OpenStream) | null,
): OpenStream {
  const inner = openSession === null ? plainStream(sink) : openSession();
  let isOpen = false;
  const tell = (frame: ListFrame): void => {
    // What changes before the first frame is in the list that the reader loads after it.
    isOpen ||= frame.type === "list_open";
    if (!isOpen) return;
    if (sink.unsent() > context.settings.limits.maxUnsentBytes) inner.bye("slow");
    else sink.write(controlFrame(frame));
  };
  const watcher: ListWatcher = {
    tell,
    mayRead: (id, info) => isAllowed(context, principal, "read", { id, info }),
    mayAnswer: principal.scopes.includes("approve")
      ? (id, info) => isAllowed(context, principal, "approvals", { id, info })
      : null,
  };
  const joining = context.list.join(watcher);
  sink.onClose(() => context.list.leave(watcher));
  joining.then(
    (approvals) => tell({ type: "list_open", approvals }),
    () => inner.bye("error"),
  );
  return inner;
}

function plainStream(sink: Sink): OpenStream {
  let isOver = false;
  sink.onClose(() => {
    isOver = true;
  });
  sink.write(retryFrame);
  return {
    bye(why, retryMs) {
      if (isOver) return;
      sink.write(byeFrame(why, retryMs));
      sink.end();
    },
    beat() {
      if (!isOver) sink.write(beatFrame);
    },
  };
}

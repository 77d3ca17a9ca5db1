/**
 * `GET /v1/live/ID`: the live items of a session that this process holds, for the other processes of this server (SEC-19).
 *
 * 1. Only a process with the secret is answered. Nothing else opens this route, and no token does.
 * 2. Items are told as they are: each process redacts what it shows, and each can read the store.
 * 3. The stream ends when this process holds the session no longer, at the latest after a minute.
 */

import type { Session } from "../../index.js";
import { eventStreamContent } from "../answer-shapes.js";
import { type EventFormat, eventStream } from "../event-stream.js";
import type { Asked, Route } from "../route.js";
import type { ServerContext } from "../server-context.js";
import { ServerError } from "../server-error.js";
import { type LinkFrame, toldFrame } from "./link-frames.js";

export const liveRoute: Route = {
  method: "GET",
  path: "/v1/live/:id",
  action: "live",
  scope: null,
  about: "Between the processes of this server: what a session streams that this process holds. It needs their secret.",
  gives: { 200: "text/event-stream: places of the log, and live items" },
  answers: { 200: eventStreamContent },
  handle: live,
};

const format: EventFormat = { headers: {}, failure: () => ({ type: "broken" }), end: null, early: null };

async function live({ request, params }: Asked, context: ServerContext) {
  const { peers, store } = context.settings;
  const id = params.id ?? "";
  const given = request.headers.get("authorization");
  const { address = null } = peers ?? {};
  if (peers === null || address === null || !peers.passes.isValid(given, address, id, Date.now()))
    throw new ServerError("unauthorized", "This is for the other processes of this server. See its option peers.");
  const held = async () => {
    const { holder = null, info = null } = (await store.describe(id)) ?? {};
    return holder === null || !context.links.isHere(holder) ? undefined : context.agentFor(id, info);
  };
  const session = (await held())?.session(id);
  if (session === undefined) throw new ServerError("not_found", "This process does not hold the session.");
  const { seq } = await session.state();
  const left = new AbortController();
  return {
    status: 200,
    stream(sink) {
      const open = eventStream(framesOf(session, seq, left.signal), left, sink, format);
      const leave = context.alone?.joined(id);
      const forget = context.peerStreams.add(open, async () => (await held()) !== undefined);
      sink.onClose(() => {
        forget();
        leave?.();
      });
      return open;
    },
  } as const satisfies Awaited<ReturnType<Route["handle"]>>;
}

async function* framesOf(
  session: Session,
  seq: number,
  signal: AbortSignal,
): AsyncGenerator<LinkFrame, void, undefined> {
  yield { type: "open", seq };
  for await (const item of session.events({ after: seq, joinDeltas: true, signal })) {
    if ("seq" in item) yield toldFrame(item);
    // What was dropped comes again as a snapshot.
    else if (item.type !== "lagged") yield item;
  }
}

/**
 * The links of a server to the processes that hold sessions which are watched here, by session.
 */

import {
  type Holder,
  isHeldHere,
  type SessionSource,
  type SessionSummary,
  type Store,
  type StreamItem,
} from "../../index.js";
import { type Cursor, formatCursor } from "../../stream/cursor.js";
import type { LiveSource } from "../client/index.js";
import type { ReadingAgent } from "../reading-agent.js";
import { connect } from "./connect.js";
import { mergedItems } from "./merged-items.js";
import type { Peers } from "./peer-options.js";
import { createSessionLink, type LinkParts, type SessionLink } from "./session-link.js";

export type Links = {
  /**
   * The items of a session after a cursor, wherever it is held.
   * @param onLive told where live items come from, at first and whenever that changes
   */
  readonly items: (
    session: SessionSource,
    after: Cursor,
    options: { readonly signal: AbortSignal | undefined; readonly onLive?: (live: LiveSource) => void },
  ) => AsyncGenerator<StreamItem, void, undefined>;
  /** Where the live items of a session come from that nobody watches here. */
  readonly live: (sessionId: string) => Promise<LiveSource>;
  /** Whether this process holds a session. */
  readonly isHere: (holder: Holder) => boolean;
};

export type LinksParts = {
  readonly store: Store;
  readonly agentFor: ReadingAgent;
  /** Whether this process carries runs out. */
  readonly works: boolean;
  readonly peers: Peers | null;
  readonly basePath: string;
  readonly heartbeatMs: number;
};

export function createLinks(parts: LinksParts): Links {
  const links = new Map<string, SessionLink>();
  const { store, peers } = parts;
  const isHere = (holder: Holder) => isThisServer(holder, peers);

  const linkParts: LinkParts = {
    describe: (sessionId) => store.describe(sessionId),
    isHere,
    liveHere: (summary) => liveHere(summary, parts),
    addressOf: ({ address }) =>
      address !== undefined && peers?.isAllowed(address) === true && address !== peers.address ? address : null,
    connect: (sessionId, address, signal) => connectTo(sessionId, address, signal, parts),
    onEmpty: (sessionId) => links.delete(sessionId),
  };

  function linkTo(sessionId: string): SessionLink {
    const known = links.get(sessionId);
    if (known !== undefined) return known;
    const link = createSessionLink(sessionId, linkParts);
    links.set(sessionId, link);
    return link;
  }

  return {
    isHere,
    items: (session, after, { signal, onLive }) =>
      mergedItems({
        followed: session.events({
          after: formatCursor(after),
          joinDeltas: true,
          ...(signal === undefined ? {} : { signal }),
        }),
        logged: (cursor) => session.events({ after: formatCursor(cursor), follow: false }),
        link: linkTo(session.id),
        after,
        ...(onLive === undefined ? {} : { onLive }),
      }),
    live: async (sessionId) => liveHere(await store.describe(sessionId), parts),
  };
}

async function* connectTo(
  sessionId: string,
  address: string,
  signal: AbortSignal,
  { peers, basePath, heartbeatMs }: LinksParts,
): ReturnType<typeof connect> {
  if (peers === null) return;
  const authorization = peers.passes.sign(address, sessionId, Date.now());
  // The other process has a heartbeat like this one's, or the usual one.
  const silentMs = Math.max(40_000, 3 * heartbeatMs);
  yield* connect({ address, sessionId, authorization, basePath, silentMs, signal });
}

/** Whether a holder is of this process and, if one process has several servers, of this one. */
function isThisServer(holder: Holder, peers: Peers | null): boolean {
  const { address } = holder;
  if (address !== undefined && peers !== null && peers.address !== null && address !== peers.address) return false;
  return isHeldHere(holder);
}

/** Deltas come from the process that holds the session. If nobody does, this one will, if it has the agent. */
async function liveHere(summary: SessionSummary | null, { agentFor, works, peers }: LinksParts): Promise<LiveSource> {
  if (summary === null || (await agentFor(summary.sessionId, summary.info)) === undefined) return "none";
  const { holder } = summary;
  return (holder === null ? works : isThisServer(holder, peers)) ? "here" : "none";
}

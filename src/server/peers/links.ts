/**
 * The links of a server, by session, to the processes that hold the sessions that are watched here.
 */

import type { Holder, SessionSource, SessionSummary, Store, StreamItem } from "../../index.js";
import { isHeldHere } from "../../inspect.js";
import { type Cursor, formatCursor } from "../../stream/cursor.js";
import type { LiveSource } from "../client/index.js";
import type { FindReadingAgent } from "../find-reading-agent.js";
import { connect } from "./connect.js";
import { mergeItems, passItems } from "./merge-items.js";
import type { Peers } from "./peer-options.js";
import { createSessionLink, type LinkDeps, type SessionLink } from "./session-link.js";

export type Links = {
  /**
   * The items of a session after a cursor, whichever process holds it.
   * @param onLive called with the source of live items, at first and whenever it changes
   * @param summary what the caller has just read of the session, if it has
   */
  readonly items: (
    session: SessionSource,
    after: Cursor,
    options: {
      readonly signal: AbortSignal | undefined;
      readonly onLive?: (liveSource: LiveSource) => void;
      readonly summary?: SessionSummary | null;
    },
  ) => AsyncGenerator<StreamItem, void, undefined>;
  /** Where the live items of a session come from that nobody watches here. */
  readonly findLiveSource: (summary: SessionSummary | null) => Promise<LiveSource>;
  /** Whether this process holds a session. */
  readonly isLocalHolder: (holder: Holder) => boolean;
};

export type LinksDeps = {
  readonly store: Store;
  readonly findReadingAgent: FindReadingAgent;
  /** Whether this process drives runs. */
  readonly hasWorker: boolean;
  readonly peers: Peers | null;
  readonly basePath: string;
  readonly heartbeatMs: number;
};

export function createLinks(deps: LinksDeps): Links {
  const links = new Map<string, SessionLink>();
  const { store, peers } = deps;
  const isLocalHolder = (holder: Holder) => isThisServer(holder, peers);

  const linkDeps: LinkDeps = {
    describe: (sessionId) => store.describe(sessionId),
    isLocalHolder,
    findLocalSource: (summary) => findLocalSource(summary, deps),
    hasWorker: deps.hasWorker,
    findPeerAddress: ({ address }) =>
      address !== undefined && peers?.isAllowed(address) === true && address !== peers.address ? address : null,
    connect: (sessionId, address, signal) => connectToPeer(sessionId, address, signal, deps),
    onEmpty: (sessionId) => links.delete(sessionId),
  };

  function getOrCreateLink(sessionId: string, summary: SessionSummary | null): SessionLink {
    const existing = links.get(sessionId);
    if (existing !== undefined) return existing;
    const link = createSessionLink(sessionId, linkDeps, summary);
    links.set(sessionId, link);
    return link;
  }

  return {
    isLocalHolder,
    items: (session, after, { signal, onLive, summary = null }) =>
      (peers === null ? passItems : mergeItems)({
        followed: session.events({
          after: formatCursor(after),
          joinDeltas: true,
          ...(signal === undefined ? {} : { signal }),
        }),
        logged: (cursor) => session.events({ after: formatCursor(cursor), follow: false }),
        // The link notices a new holder by its first event. If the items begin after that event, the summary is out of date.
        link: getOrCreateLink(session.id, summary === null || after.seq > summary.seq ? null : summary),
        after,
        ...(onLive === undefined ? {} : { onLive }),
      }),
    findLiveSource: (summary) => findLocalSource(summary, deps),
  };
}

async function* connectToPeer(
  sessionId: string,
  address: string,
  signal: AbortSignal,
  { peers, basePath, heartbeatMs }: LinksDeps,
): ReturnType<typeof connect> {
  if (peers === null) return;
  const authorization = peers.passes.sign(address, sessionId, Date.now());
  // The other process has the same heartbeat interval as this one, or the default one.
  const silentMs = Math.max(40_000, 3 * heartbeatMs);
  yield* connect({ address, sessionId, authorization, basePath, silentMs, signal });
}

/** Whether a holder is this process and, if a process has several servers, this server. */
function isThisServer(holder: Holder, peers: Peers | null): boolean {
  const { address } = holder;
  if (address !== undefined && peers !== null && peers.address !== null && address !== peers.address) return false;
  return isHeldHere(holder);
}

/** Deltas come from the holder of the session. If there is none, it will be this process, provided that it has the agent. */
async function findLocalSource(
  summary: SessionSummary | null,
  { findReadingAgent, hasWorker, peers }: LinksDeps,
): Promise<LiveSource> {
  if (summary === null || (await findReadingAgent(summary.sessionId, summary.info)) === undefined) return "none";
  const { holder } = summary;
  return (holder === null ? hasWorker : isThisServer(holder, peers)) ? "here" : "none";
}

/**
 * The links of a server, by session, to the processes that hold the watched sessions.
 */

import type { Agent, SessionSource, SessionSummary, Store, StreamItem } from "../../index.js";
import { isDrivenBy, isHeldHere } from "../../inspect.js";
import type { Holder } from "../../store.js";
import type { Cursor } from "../../stream/cursor.js";
import { createLazyItems } from "../../stream/lazy-items.js";
import type { LiveSource } from "../client/index.js";
import type { FindReadingAgent } from "../find-reading-agent.js";
import { connect, type PeerConnection } from "./connect.js";
import type { Peers } from "./peer-options.js";
import { createSessionLink, type LinkDeps, readLink, type SessionLink } from "./session-link.js";

export type Links = {
  /** @param summary the session as the caller has just read it; null if it does not exist */
  readonly getOrOpen: (session: SessionSource, summary: SessionSummary | null) => SessionLink;
  /**
   * The items of a session after a cursor, whichever process holds it.
   * @param onLive called with the source of live items, at first and whenever it changes
   * @param summary the session as the caller has just read it, if it has
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
  /** Finds the source of live items for a session that has no link in this process. */
  readonly findLiveSource: (summary: SessionSummary | null) => Promise<LiveSource>;
  /** Whether this process holds a session. */
  readonly isLocalHolder: (holder: Holder) => boolean;
};

export type LinksDeps = {
  readonly store: Store;
  readonly agents: ReadonlyMap<string, Agent>;
  readonly findReadingAgent: FindReadingAgent;
  /** Whether this process drives runs. */
  readonly hasWorker: boolean;
  readonly peers: Peers | null;
  readonly basePath: string;
  readonly heartbeatMs: number;
  /** Called when the text of a session cannot be streamed, because its holder cannot be reached: once for each address and reason. */
  readonly onUnreachable: (error: Error, sessionId: string) => void;
};

/** How many addresses and reasons are remembered. An attempt is repeated each second, so each is reported once. */
const maxReported = 1_000;

export function createLinks(deps: LinksDeps): Links {
  const links = new Map<string, SessionLink>();
  const { store, peers } = deps;
  const isLocalHolder = (holder: Holder) => isThisServer(holder, peers);
  const reported = new Set<string>();
  const report = (sessionId: string, address: string, reason: string, cause?: unknown) => {
    const message = `The process at ${JSON.stringify(address)} cannot be reached, so its sessions are streamed without deltas: ${reason}`;
    if (reported.has(message) || reported.size >= maxReported) return;
    reported.add(message);
    deps.onUnreachable(new Error(message, { cause }), sessionId);
  };

  const linkDeps: LinkDeps = {
    describe: (sessionId) => store.describe(sessionId),
    isLocalHolder,
    isDrivenHere: (sessionId) => [...deps.agents.values()].some((agent) => isDrivenBy(agent, sessionId)),
    findLocalSource: (summary) => findLocalSource(summary, deps),
    hasWorker: deps.hasWorker,
    findPeerAddress({ address }, sessionId) {
      if (address === undefined || peers === null || address === peers.address) return null;
      if (peers.isAllowed(address)) return address;
      report(sessionId, address, "peers.allow does not match this address.");
      return null;
    },
    async *connect(sessionId, address, after, signal) {
      try {
        yield* connectToPeer({ sessionId, address, after, signal }, deps);
      } catch (error) {
        if (!signal.aborted) report(sessionId, address, formatReason(error), error);
        throw error;
      }
    },
    onEmpty: (sessionId) => links.delete(sessionId),
  };

  const getOrOpen: Links["getOrOpen"] = (session, summary) => {
    const existing = links.get(session.id);
    if (existing !== undefined) return existing;
    const link = createSessionLink(session, summary, linkDeps);
    links.set(session.id, link);
    return link;
  };

  return {
    isLocalHolder,
    getOrOpen,
    items: (session, after, { summary = null, ...options }) =>
      createLazyItems(async () => {
        const current = summary ?? (await store.describe(session.id));
        return readLink(getOrOpen(session, current), after, options);
      }),
    findLiveSource: (summary) => findLocalSource(summary, deps),
  };
}

async function* connectToPeer(
  peer: Pick<PeerConnection, "sessionId" | "address" | "after" | "signal">,
  { peers, basePath, heartbeatMs }: LinksDeps,
): ReturnType<typeof connect> {
  if (peers === null) return;
  const authorization = peers.passes.sign(peer.address, peer.sessionId, Date.now());
  // The other process has the same heartbeat interval as this one, or the default.
  yield* connect({ ...peer, authorization, basePath, silentMs: Math.max(40_000, 3 * heartbeatMs) });
}

/** `fetch` puts the reason into the cause of its error. */
function formatReason(error: unknown): string {
  const { cause = error } = error instanceof Error ? error : {};
  return cause instanceof Error ? cause.message : String(cause);
}

/** Whether a holder is this process and, if the process has several servers, this server. */
function isThisServer(holder: Holder, peers: Peers | null): boolean {
  const { address } = holder;
  if (address !== undefined && peers !== null && peers.address !== null && address !== peers.address) return false;
  return isHeldHere(holder);
}

/** Deltas come from the holder of the session. Without a holder, this process will become it, provided that it has the agent. */
async function findLocalSource(
  summary: SessionSummary | null,
  { findReadingAgent, hasWorker, peers }: LinksDeps,
): Promise<LiveSource> {
  if (summary === null || (await findReadingAgent(summary.sessionId, summary.info)) === undefined) return "none";
  const { holder } = summary;
  return (holder === null ? hasWorker : isThisServer(holder, peers)) ? "here" : "none";
}

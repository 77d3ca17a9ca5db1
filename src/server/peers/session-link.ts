/**
 * Delivers the items of a session to all of its readers in this process. A link has one reader of the store and, while another
 * process holds the session, one connection to that process.
 *
 * 1. Listeners get each event once and in order, whether the store or the holder delivers it first: the holder's stream begins
 *    after the last event that they got.
 * 2. A live item is dropped if its owner has ended, because the store may be faster than the holder.
 * 3. The link reads the holder of the session when an event shows that it may have changed, unless this process drives it, and when the
 *    connection has ended. A failed read or connection is retried after a second. The first time, the link uses the session as its
 *    creator has just read it.
 */

import type { PublicEvent, SessionSource, SessionSummary, StreamItem } from "../../index.js";
import type { Holder } from "../../store.js";
import { afterEntry, type Cursor, cursorAfter, formatCursor, isAfter } from "../../stream/cursor.js";
import { findEndedKey, isOver } from "../../stream/tail/item-owner.js";
import {
  createItems,
  createTail,
  endOnAbort,
  endTail,
  type ItemIterator,
  pushItem,
  type Tail,
  type TailError,
} from "../../stream/tail/tail.js";
import { createSessionView, type SessionView } from "../../view/session-view.js";
import type { LiveSource } from "../client/index.js";
import type { LinkFrame } from "./link-frames.js";

export type LinkListener = {
  readonly item: (item: StreamItem) => void;
  /** Called with the source of live items, when it becomes known and whenever it changes. */
  readonly live: (live: LiveSource) => void;
  /** Called once if the items end before the listener leaves. */
  readonly end: (error?: TailError) => void;
};

export type SessionLink = {
  readonly session: SessionSource;
  /** Adds a listener. Returns the entry after which its items begin. */
  readonly join: (listener: LinkListener) => number;
  readonly leave: (listener: LinkListener) => void;
  /** The message that is streaming, as received so far, and the preliminary results of running calls. */
  readonly inProgress: () => readonly StreamItem[];
};

/** Shared by the links of a server. */
export type LinkDeps = {
  readonly describe: (sessionId: string) => Promise<SessionSummary | null>;
  /** Whether a process is this one. */
  readonly isLocalHolder: (holder: Holder) => boolean;
  /** Whether an agent of this process drives the session. */
  readonly isDrivenHere: (sessionId: string) => boolean;
  /** The source of live items if no other process can send them. */
  readonly findLocalSource: (summary: SessionSummary | null) => Promise<LiveSource>;
  /** Whether this process drives sessions that have no holder. */
  readonly hasWorker: boolean;
  /** The address of the holder, if this process may connect to it; otherwise null. */
  readonly findPeerAddress: (holder: Holder, sessionId: string) => string | null;
  readonly connect: (
    sessionId: string,
    address: string,
    after: Cursor,
    signal: AbortSignal,
  ) => AsyncIterable<LinkFrame>;
  /** Called when the last listener has left, or the items have ended. */
  readonly onEmpty: (sessionId: string) => void;
};

type LinkConnection = { readonly holderId: string; readonly lifetime: AbortController; isOpen: boolean };

const refreshEveryMs = 1_000;
/** How many ended attempts, calls and runs are remembered. */
const maxEnded = 1_024;

/** @param given the session as the caller has just read it; null if it does not exist */
export function createSessionLink(session: SessionSource, given: SessionSummary | null, deps: LinkDeps): SessionLink {
  const sessionId = session.id;
  const listeners = new Set<LinkListener>();
  const lifetime = new AbortController();
  let firstSummary = given;
  let live: LiveSource | null = null;
  let currentConnection: LinkConnection | null = null;
  /** The cursor after the last event that the listeners got. */
  let position = afterEntry(given?.seq ?? 0);
  /** Null before the first item, because a process may have many links of inactive sessions. */
  let view: SessionView | null = null;
  const ended = new Set<string>();
  const preliminary = new Map<string, StreamItem>();
  let holder: "none" | "here" | "unreachable" | "peer" = "none";
  let isRefreshing = false;
  let needsRefresh = false;
  let timer: ReturnType<typeof setTimeout> | null = null;
  /** The last entry of the log at the last refresh. */
  let refreshedSeq = 0;
  let lastBrokenAt = Number.NEGATIVE_INFINITY;

  function setLive(found: LiveSource): void {
    if (found === live) return;
    live = found;
    for (const listener of listeners) listener.live(found);
  }

  function disconnect(): void {
    currentConnection?.lifetime.abort();
    currentConnection = null;
  }

  function receive(item: StreamItem, source: "store" | "holder"): void {
    if ("seq" in item) {
      if (!isAfter(item, position)) return;
      position = cursorAfter(item);
      recordEnd(item);
      // The connection is to the previous holder.
      if (item.type === "restarted" && source === "store" && item.seq > refreshedSeq) disconnect();
    } else if (isOver(item, ended)) return;
    view ??= createSessionView();
    if (view.apply(item).length === 0) return;
    if (item.type === "preliminary") preliminary.set(item.callKey, item);
    for (const listener of [...listeners]) listener.item(item);
    if ("seq" in item) observeEvent(item);
  }

  function recordEnd(event: PublicEvent): void {
    if (event.type === "tool_result") preliminary.delete(event.callKey);
    if (event.type === "run_started" || event.type === "final") preliminary.clear();
    const key = findEndedKey(event);
    if (key !== null) ended.add(key);
    const [oldest] = ended;
    if (ended.size > maxEnded && oldest !== undefined) ended.delete(oldest);
  }

  function observeEvent(event: PublicEvent): void {
    if (event.seq <= refreshedSeq) return;
    if (holder === "here" && deps.hasWorker && releasesSession(event)) {
      // The session stays here until another process claims it, which begins with an event.
      holder = "none";
      return;
    }
    if (!canChangeHolder(event) && (holder !== "none" || currentConnection !== null)) return;
    // A read that is under way may return an earlier holder, so it is repeated.
    if (isRefreshing || !deps.isDrivenHere(sessionId)) return void refresh();
    holder = "here";
    disconnect();
    setLive("here");
  }

  async function followSession(): Promise<void> {
    let error: TailError | undefined;
    try {
      const seen = firstSummary === null ? {} : { seen: firstSummary };
      const options = { after: formatCursor(position), joinDeltas: true, signal: lifetime.signal, ...seen };
      for await (const item of session.events(options)) receive(item, "store");
    } catch (cause) {
      error = { cause };
    }
    if (lifetime.signal.aborted) return;
    close();
    for (const listener of [...listeners]) listener.end(error);
  }

  function close(): void {
    lifetime.abort();
    if (timer !== null) clearTimeout(timer);
    disconnect();
    deps.onEmpty(sessionId);
  }

  async function refresh(): Promise<void> {
    needsRefresh = true;
    if (isRefreshing) return;
    if (timer !== null) clearTimeout(timer);
    timer = null;
    isRefreshing = true;
    while (needsRefresh && !lifetime.signal.aborted) {
      needsRefresh = false;
      await refreshOnce();
    }
    isRefreshing = false;
  }

  async function refreshOnce(): Promise<void> {
    let summary: SessionSummary | null;
    let localSource: LiveSource;
    try {
      summary = firstSummary ?? (await deps.describe(sessionId));
      firstSummary = null;
      localSource = await deps.findLocalSource(summary);
    } catch {
      scheduleRefresh();
      return;
    }
    if (lifetime.signal.aborted) return;
    refreshedSeq = summary?.seq ?? 0;
    const found = summary?.holder ?? null;
    const address = found === null ? null : deps.findPeerAddress(found, sessionId);
    holder = found === null ? "none" : deps.isLocalHolder(found) ? "here" : address === null ? "unreachable" : "peer";
    if (found === null || address === null || holder !== "peer") {
      disconnect();
      setLive(localSource);
    } else if (currentConnection?.holderId !== found.id) {
      disconnect();
      setLive("none");
      void followPeer(address, found.id);
    }
  }

  function scheduleRefresh(): void {
    if (lifetime.signal.aborted || timer !== null) return;
    timer = setTimeout(() => {
      timer = null;
      void refresh();
    }, refreshEveryMs);
  }

  async function followPeer(address: string, holderId: string): Promise<void> {
    const connection: LinkConnection = { holderId, lifetime: new AbortController(), isOpen: false };
    currentConnection = connection;
    try {
      for await (const frame of deps.connect(sessionId, address, position, connection.lifetime.signal)) {
        if (currentConnection !== connection) return;
        if (frame.type !== "open") receive(frame, "holder");
        else {
          connection.isOpen = true;
          view?.rejoin();
          setLive("peer");
        }
      }
    } catch {
      // A broken connection is handled like an ended one: the store has the current holder.
    }
    if (currentConnection !== connection) return;
    // After repeated breaks, reconnecting is delayed.
    const isFirstBreak = connection.isOpen && Date.now() - lastBrokenAt >= refreshEveryMs;
    lastBrokenAt = Date.now();
    disconnect();
    setLive("none");
    if (isFirstBreak) void refresh();
    else scheduleRefresh();
  }

  return {
    session,
    join(listener) {
      listeners.add(listener);
      if (listeners.size === 1) void followSession();
      if (live !== null) listener.live(live);
      else void refresh();
      return position.seq;
    },
    leave(listener) {
      listeners.delete(listener);
      if (listeners.size === 0 && !lifetime.signal.aborted) close();
    },
    inProgress() {
      const streamed = view?.snapshot().streamed ?? null;
      return [...(streamed === null ? [] : [streamed]), ...preliminary.values()];
    },
  };
}

/** Reads the items after a cursor, for one consumer. `onLive` is called like the listener's `live`. */
export function readLink(
  link: SessionLink,
  after: Cursor,
  { signal, onLive = () => {} }: { readonly signal: AbortSignal | undefined; readonly onLive?: LinkListener["live"] },
): ItemIterator {
  const { session, inProgress } = link;
  const listener: LinkListener = {
    item: (item) => pushItem(tail, item),
    live: onLive,
    end: (error) => endTail(tail, error),
  };
  const logged = (from: Cursor) =>
    session.events({ after: formatCursor(from), follow: false }) as AsyncIterable<PublicEvent>;
  const options = { after, joinDeltas: true, onLeave: () => link.leave(listener) };
  const tail: Tail = createTail({ logged, inProgress }, link.join(listener), options);
  if (signal !== undefined) endOnAbort(tail, signal);
  return createItems(tail);
}

/** Whether another process, or none, may hold the session after this event. */
function canChangeHolder(event: PublicEvent): boolean {
  return event.type === "run_started" || event.type === "restarted" || releasesSession(event);
}

function releasesSession({ type }: PublicEvent): boolean {
  return type === "suspended" || type === "final";
}

/**
 * The link of a session: the source of its live items, and one connection to its holder, however many watchers there are here.
 *
 * 1. The link reads the store when it begins (unless its creator just has), when an event shows that another process may hold
 *    the session, and when the connection has ended. After that, it reads the store every second while a reachable process holds the session.
 * 2. It keeps the message that is being streamed, so that new listeners get it.
 * 3. It sends only positions in the log: events come from the store.
 */

import type { Holder, PublicEvent, SessionSummary, Snapshot } from "../../index.js";
import { afterEntry, type Cursor, parseCursor } from "../../stream/cursor.js";
import { createSessionView, type SessionView } from "../../view/session-view.js";
import type { LiveSource } from "../client/index.js";
import type { AttemptEnd, LinkFrame, LiveItem } from "./link-frames.js";

export type LinkListener = {
  /** Called with an item that was sent after the event of `mark`. */
  readonly item: (item: LiveItem, mark: Cursor) => void;
  /** Called when the holder reports that the log has advanced. */
  readonly advanced: () => void;
  /** Called when a connection has begun or ended: earlier items are void. Continue from `snapshot()`. */
  readonly reset: () => void;
  readonly live: (live: LiveSource) => void;
};

export type SessionLink = {
  readonly join: (listener: LinkListener) => void;
  readonly leave: (listener: LinkListener) => void;
  /** Notifies the link of an event of the log. */
  readonly observeEvent: (event: PublicEvent) => void;
  /** The cursor after which the last item was sent; null without a connection. */
  readonly mark: () => Cursor | null;
  /** The message that is being streamed, as received so far. */
  readonly snapshot: () => Snapshot | null;
};

/** Shared by the links of a server. */
export type LinkDeps = {
  readonly describe: (sessionId: string) => Promise<SessionSummary | null>;
  /** Whether a process is this one. */
  readonly isLocalHolder: (holder: Holder) => boolean;
  /** The source of live items if no other process can send them. */
  readonly findLocalSource: (summary: SessionSummary | null) => Promise<LiveSource>;
  /** Whether this process drives what nobody holds. */
  readonly hasWorker: boolean;
  /** The address of the holder, if this process may connect to it; otherwise null. */
  readonly findPeerAddress: (holder: Holder) => string | null;
  readonly connect: (sessionId: string, address: string, signal: AbortSignal) => AsyncIterable<LinkFrame>;
  /** Called when the last listener has left. */
  readonly onEmpty: (sessionId: string) => void;
};

type LinkConnection = { readonly holderId: string; readonly lifetime: AbortController; isOpen: boolean };

const refreshEveryMs = 1_000;

/** @param given what was just read of the session; null if nothing was */
export function createSessionLink(sessionId: string, deps: LinkDeps, given: SessionSummary | null = null): SessionLink {
  let firstSummary = given;
  const listeners = new Set<LinkListener>();
  let live: LiveSource | null = null;
  let currentConnection: LinkConnection | null = null;
  let mark: Cursor | null = null;
  /** Null without a connection. */
  let view: SessionView | null = null;
  let holder: "nobody" | "here" | "unreachable" | "peer" = "nobody";
  let isRefreshing = false;
  let needsRefresh = false;
  let timer: ReturnType<typeof setTimeout> | null = null;
  let isClosed = false;
  /** The last entry of the log at the last refresh. */
  let refreshedSeq = 0;
  let lastBrokenAt = Number.NEGATIVE_INFINITY;

  function setLive(found: LiveSource): void {
    if (found === live) return;
    live = found;
    for (const listener of listeners) listener.live(found);
  }

  function reset(): void {
    mark = null;
    view = null;
    for (const listener of listeners) listener.reset();
  }

  function disconnect(): void {
    if (currentConnection === null) return;
    currentConnection.lifetime.abort();
    currentConnection = null;
    reset();
  }

  async function refresh(): Promise<void> {
    needsRefresh = true;
    if (isRefreshing) return;
    if (timer !== null) clearTimeout(timer);
    timer = null;
    isRefreshing = true;
    while (needsRefresh && !isClosed) {
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
    if (isClosed) return;
    refreshedSeq = summary?.seq ?? 0;
    const found = summary?.holder ?? null;
    const address = found === null ? null : deps.findPeerAddress(found);
    holder = found === null ? "nobody" : deps.isLocalHolder(found) ? "here" : address === null ? "unreachable" : "peer";
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
    if (isClosed || timer !== null) return;
    timer = setTimeout(() => {
      timer = null;
      void refresh();
    }, refreshEveryMs);
  }

  async function followPeer(address: string, holderId: string): Promise<void> {
    const connection: LinkConnection = { holderId, lifetime: new AbortController(), isOpen: false };
    currentConnection = connection;
    try {
      for await (const frame of deps.connect(sessionId, address, connection.lifetime.signal)) {
        if (currentConnection !== connection) return;
        applyFrame(frame, connection);
      }
    } catch {
      // A broken connection is like one that has ended: the store says who holds the session now.
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

  function applyFrame(frame: LinkFrame, connection: LinkConnection): void {
    if (frame.type === "open") {
      connection.isOpen = true;
      reset();
      view = createSessionView();
      mark = afterEntry(frame.seq);
      setLive("peer");
      for (const listener of listeners) listener.advanced();
      return;
    }
    if (mark === null || view === null) return;
    if (frame.type === "told") {
      mark = parseCursor(frame.place) ?? mark;
      if (frame.ends !== undefined) view.apply(toEndingEvent(frame.ends, mark));
      for (const listener of listeners) listener.advanced();
      return;
    }
    view.apply(frame);
    for (const listener of listeners) listener.item(frame, mark);
  }

  return {
    join(listener) {
      listeners.add(listener);
      if (live !== null) listener.live(live);
      else void refresh();
    },
    leave(listener) {
      listeners.delete(listener);
      if (listeners.size > 0 || isClosed) return;
      isClosed = true;
      if (timer !== null) clearTimeout(timer);
      disconnect();
      deps.onEmpty(sessionId);
    },
    observeEvent(event) {
      if (event.seq <= refreshedSeq) return;
      if (holder === "here" && deps.hasWorker && releasesSession(event)) {
        // The session stays here until another process claims it, and that begins with an event.
        holder = "nobody";
        return;
      }
      if (canChangeHolder(event) || (holder === "nobody" && currentConnection === null)) void refresh();
    },
    mark: () => mark,
    snapshot: () => view?.snapshot().streamed ?? null,
  };
}

/** The view must know that a message has ended, but not how: the message or result comes from the store. */
function toEndingEvent(ends: AttemptEnd, mark: Cursor): PublicEvent {
  return { ...ends, ...(ends.type === "final" ? {} : { type: "attempt_withdrawn" }), ...mark } as PublicEvent;
}

/** Whether another process, or none, may hold the session after this event. */
function canChangeHolder(event: PublicEvent): boolean {
  return event.type === "run_started" || event.type === "restarted" || releasesSession(event);
}

function releasesSession({ type }: PublicEvent): boolean {
  return type === "suspended" || type === "final";
}

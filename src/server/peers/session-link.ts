/**
 * Where the live items of a session come from, and one connection to the process that holds it, however many watch here.
 *
 * 1. It looks at the store when it begins, when an event tells that another process may hold the session now, and when the
 *    connection has ended: at once, and then every second while a process that may be reached holds the session.
 * 2. It keeps the message that is being streamed, so that it can be told to those who join.
 * 3. What it says of the log are places only: events come from the store.
 */

import type { Holder, PublicEvent, SessionSummary, Snapshot } from "../../index.js";
import { afterEntry, type Cursor, parseCursor } from "../../stream/cursor.js";
import { createSessionView, type SessionView } from "../../view/session-view.js";
import type { LiveSource } from "../client/index.js";
import type { EndOfAttempt, LinkFrame, LiveItem } from "./link-frames.js";

export type LinkListener = {
  /** An item, said after the event of `mark`. */
  readonly item: (item: LiveItem, mark: Cursor) => void;
  /** The log has come further, as the process says that holds the session. */
  readonly told: () => void;
  /** What came before is void: a connection began or ended. Go on from `snapshot()`. */
  readonly reset: () => void;
  readonly live: (live: LiveSource) => void;
};

export type SessionLink = {
  readonly join: (listener: LinkListener) => void;
  readonly leave: (listener: LinkListener) => void;
  /** Tells of an event of the log. */
  readonly saw: (event: PublicEvent) => void;
  /** The cursor after which the last item was sent; null without a connection. */
  readonly mark: () => Cursor | null;
  /** The message that is being streamed, as far as the connection told it. */
  readonly snapshot: () => Snapshot | null;
};

/** What the links of a server share. */
export type LinkParts = {
  readonly describe: (sessionId: string) => Promise<SessionSummary | null>;
  /** Whether a process is this one. */
  readonly isHere: (holder: Holder) => boolean;
  /** Where the live items come from if no other process can tell them. */
  readonly liveHere: (summary: SessionSummary | null) => Promise<LiveSource>;
  /** The address of a process that this one may ask; null if there is none. */
  readonly addressOf: (holder: Holder) => string | null;
  readonly connect: (sessionId: string, address: string, signal: AbortSignal) => AsyncIterable<LinkFrame>;
  /** Called when the last listener has left. */
  readonly onEmpty: (sessionId: string) => void;
};

type Connected = { readonly holderId: string; readonly over: AbortController; isOpen: boolean };

const lookEveryMs = 1_000;

export function createSessionLink(sessionId: string, parts: LinkParts): SessionLink {
  const listeners = new Set<LinkListener>();
  let live: LiveSource | null = null;
  let connected: Connected | null = null;
  let mark: Cursor | null = null;
  /** Null without a connection. */
  let view: SessionView | null = null;
  let holder: "nobody" | "here" | "unreachable" | "peer" = "nobody";
  let isLooking = false;
  let looksAgain = false;
  let timer: ReturnType<typeof setTimeout> | null = null;
  let isOver = false;
  /** The last entry of the log at the last look. */
  let lookedAt = 0;
  let brokeAt = Number.NEGATIVE_INFINITY;

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
    if (connected === null) return;
    connected.over.abort();
    connected = null;
    reset();
  }

  async function look(): Promise<void> {
    looksAgain = true;
    if (isLooking) return;
    if (timer !== null) clearTimeout(timer);
    timer = null;
    isLooking = true;
    while (looksAgain && !isOver) {
      looksAgain = false;
      await lookOnce();
    }
    isLooking = false;
  }

  async function lookOnce(): Promise<void> {
    let summary: SessionSummary | null;
    let here: LiveSource;
    try {
      summary = await parts.describe(sessionId);
      here = await parts.liveHere(summary);
    } catch {
      lookLater();
      return;
    }
    if (isOver) return;
    lookedAt = summary?.seq ?? 0;
    const found = summary?.holder ?? null;
    const address = found === null ? null : parts.addressOf(found);
    holder = found === null ? "nobody" : parts.isHere(found) ? "here" : address === null ? "unreachable" : "peer";
    if (found === null || address === null || holder !== "peer") {
      disconnect();
      setLive(here);
    } else if (connected?.holderId !== found.id) {
      disconnect();
      setLive("none");
      void listen(address, found.id);
    }
  }

  function lookLater(): void {
    if (isOver || timer !== null) return;
    timer = setTimeout(() => {
      timer = null;
      void look();
    }, lookEveryMs);
  }

  async function listen(address: string, holderId: string): Promise<void> {
    const own: Connected = { holderId, over: new AbortController(), isOpen: false };
    connected = own;
    try {
      for await (const frame of parts.connect(sessionId, address, own.over.signal)) {
        if (connected !== own) return;
        take(frame, own);
      }
    } catch {
      // A connection that breaks is like one that ends: the store says who holds the session now.
    }
    if (connected !== own) return;
    // A connection that breaks again and again is not made at once each time.
    const isFirst = own.isOpen && Date.now() - brokeAt >= lookEveryMs;
    brokeAt = Date.now();
    disconnect();
    setLive("none");
    if (isFirst) void look();
    else lookLater();
  }

  function take(frame: LinkFrame, own: Connected): void {
    if (frame.type === "open") {
      own.isOpen = true;
      reset();
      view = createSessionView();
      mark = afterEntry(frame.seq);
      setLive("peer");
      for (const listener of listeners) listener.told();
      return;
    }
    if (mark === null || view === null) return;
    if (frame.type === "told") {
      mark = parseCursor(frame.place) ?? mark;
      if (frame.ends !== undefined) view.apply(endingEvent(frame.ends, mark));
      for (const listener of listeners) listener.told();
      return;
    }
    view.apply(frame);
    for (const listener of listeners) listener.item(frame, mark);
  }

  return {
    join(listener) {
      listeners.add(listener);
      if (live !== null) listener.live(live);
      else void look();
    },
    leave(listener) {
      listeners.delete(listener);
      if (listeners.size > 0 || isOver) return;
      isOver = true;
      if (timer !== null) clearTimeout(timer);
      disconnect();
      parts.onEmpty(sessionId);
    },
    saw(event) {
      if (event.seq <= lookedAt) return;
      if (changesHolder(event) || (holder === "nobody" && connected === null)) void look();
    },
    mark: () => mark,
    snapshot: () => view?.snapshot().streamed ?? null,
  };
}

/** The view has to know that a message has ended, not how: what the message or the result says comes from the store. */
function endingEvent(ends: EndOfAttempt, mark: Cursor): PublicEvent {
  return { ...ends, ...(ends.type === "final" ? {} : { type: "attempt_withdrawn" }), ...mark } as PublicEvent;
}

/** Events after which another process may hold the session, or nobody. */
function changesHolder({ type }: PublicEvent): boolean {
  return type === "run_started" || type === "restarted" || type === "suspended" || type === "final";
}

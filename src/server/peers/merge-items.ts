/**
 * Merges the items of a session in their original order: events from the store, and live items from the holder.
 *
 * 1. A live item waits until the events before it have been delivered. If they are late, they are read from the store.
 * 2. A live item of something that has ended in the log is dropped: a delta never comes after the commit of its message.
 * 3. Each event is delivered once. The queue is bounded: if it is full, a snapshot replaces all of it.
 */

import type { PublicEvent, StreamItem } from "../../index.js";
import { toAttemptKey } from "../../stream/attempt-key.js";
import { type Cursor, cursorAfter, isAfter } from "../../stream/cursor.js";
import { findEndedKey, isOver } from "../../stream/tail/item-owner.js";
import type { LiveSource } from "../client/index.js";
import type { LiveItem } from "./link-frames.js";
import type { LinkListener, SessionLink } from "./session-link.js";

export type MergeSource = {
  /** The items that this process follows: all events, and live items if it holds the session itself. */
  readonly followed: AsyncGenerator<StreamItem, void, undefined>;
  /** The events after a cursor, to the current end of the log. */
  readonly logged: (after: Cursor) => AsyncIterable<StreamItem>;
  readonly link: SessionLink;
  /** The cursor after which `followed` begins. */
  readonly after: Cursor;
  readonly onLive?: (live: LiveSource) => void;
};

/** How many live items may wait for their position in the log, or for the consumer. */
const maxQueuedItems = 4_096;

/** The items that this process follows, where no other process can send live ones. The link hears of each event all the same. */
export async function* passItems({ followed, link, onLive }: MergeSource): AsyncGenerator<StreamItem, void, undefined> {
  const listener = { item: noop, advanced: noop, reset: noop, live: (live: LiveSource) => onLive?.(live) };
  link.join(listener);
  try {
    for await (const item of followed) {
      if ("seq" in item) link.observeEvent(item);
      yield item;
    }
  } finally {
    link.leave(listener);
  }
}

function noop(): void {}

export async function* mergeItems(source: MergeSource): AsyncGenerator<StreamItem, void, undefined> {
  const { logged, link } = source;
  let deliveredUpTo = source.after;
  /** The link's mark after which the log was searched for what has ended. */
  let joinedMark: Cursor | null = null;
  const bell = createBell();
  const liveQueue = createLiveQueue(link);
  const followed = createItemPoll(source.followed, bell.ring);
  const listener: LinkListener = {
    item(item, mark) {
      liveQueue.add(item, mark);
      bell.ring();
    },
    advanced: () => bell.ring(),
    reset() {
      joinedMark = null;
      liveQueue.reset();
    },
    live: (live) => source.onLive?.(live),
  };

  /** False for an event that was already delivered. */
  function isNew(item: StreamItem): boolean {
    if (!("seq" in item)) return true;
    if (!isAfter(item, deliveredUpTo)) return false;
    deliveredUpTo = cursorAfter(item);
    liveQueue.markEnded(item);
    link.observeEvent(item);
    return true;
  }

  link.join(listener);
  try {
    for (;;) {
      const mark = link.mark();
      if (mark !== null && isAfter(mark, deliveredUpTo)) {
        for await (const event of logged(deliveredUpTo)) if (isNew(event)) yield event;
        // Everything up to the mark was committed before it was sent.
        if (isAfter(mark, deliveredUpTo)) deliveredUpTo = mark;
        continue;
      }
      if (mark !== null && liveQueue.needsSnapshot() && mark !== joinedMark && isAfter(deliveredUpTo, mark)) {
        // The link lags: until it has caught up, its items may belong to messages that are already committed.
        joinedMark = mark;
        for await (const event of logged(mark))
          if ("seq" in event && !isAfter(event, deliveredUpTo)) liveQueue.markEnded(event);
        continue;
      }
      const item = liveQueue.next();
      if (item !== null) {
        yield item;
        continue;
      }
      const next = followed.poll();
      if (next === null) await bell.rung();
      else if (next.done === true) return;
      else if (isNew(next.value)) yield next.value;
    }
  } finally {
    link.leave(listener);
    await source.followed.return();
  }
}

/** Wakes one waiter. If it rings while nothing waits, the next wait ends at once. */
function createBell(): { readonly ring: () => void; readonly rung: () => Promise<void> } {
  let isRung = false;
  let wake: (() => void) | null = null;
  return {
    ring() {
      isRung = true;
      wake?.();
    },
    rung: () =>
      new Promise((resolve) => {
        wake = () => {
          wake = null;
          isRung = false;
          resolve();
        };
        if (isRung) wake();
      }),
  };
}

type FollowedItems = AsyncGenerator<StreamItem, void, undefined>;

/** The next item of a generator, which is asked for one at a time. `poll` returns null until it arrives. */
function createItemPoll(
  items: FollowedItems,
  ring: () => void,
): { readonly poll: () => Awaited<ReturnType<FollowedItems["next"]>> | null } {
  let isRequested = false;
  let arrived: (() => Awaited<ReturnType<FollowedItems["next"]>>) | null = null;
  const arrive = (unwrap: NonNullable<typeof arrived>) => {
    arrived = unwrap;
    ring();
  };
  return {
    poll() {
      if (arrived !== null) {
        const unwrap = arrived;
        arrived = null;
        isRequested = false;
        return unwrap();
      }
      if (!isRequested)
        items.next().then(
          (result) => arrive(() => result),
          (error: unknown) =>
            arrive(() => {
              throw error;
            }),
        );
      isRequested = true;
      return null;
    },
  };
}

type LiveQueue = {
  readonly add: (item: LiveItem, mark: Cursor) => void;
  /** Drops the queue: the next item is a snapshot of the message. */
  readonly reset: () => void;
  /** Whether the next item is a snapshot of the message. */
  readonly needsSnapshot: () => boolean;
  /** Records an event: items of what it ends are dropped from now on. */
  readonly markEnded: (event: PublicEvent) => void;
  /** The next item; every event up to the link's mark must have been delivered. Null if the queue is empty. */
  readonly next: () => StreamItem | null;
};

function createLiveQueue(link: SessionLink): LiveQueue {
  let items: { readonly item: LiveItem; readonly mark: Cursor }[] = [];
  let head = 0;
  let awaitsSnapshot = true;
  /** The cursors of the events that have ended something, by key. Forgotten when the link has reached them. */
  let endedAt: Map<string, Cursor> | null = null;
  let restartedAt: Cursor | null = null;

  function clear(): void {
    items = [];
    head = 0;
  }

  function hasEnded(item: LiveItem, mark: Cursor): boolean {
    for (const [what, cursor] of endedAt ?? []) if (!isAfter(cursor, mark)) endedAt?.delete(what);
    if (restartedAt !== null && isAfter(restartedAt, mark)) return true;
    return endedAt !== null && isOver(item, endedAt);
  }

  return {
    add(item, mark) {
      // The awaited snapshot will include it.
      if (awaitsSnapshot) return;
      const last = items.length > head ? items[items.length - 1] : undefined;
      const joined = last?.mark === mark ? joinDeltas(last.item, item) : null;
      if (joined !== null) items[items.length - 1] = { item: joined, mark };
      else if (items.length - head >= maxQueuedItems) {
        clear();
        awaitsSnapshot = true;
      } else items.push({ item, mark });
    },
    reset() {
      clear();
      endedAt = null;
      awaitsSnapshot = true;
    },
    needsSnapshot: () => awaitsSnapshot,
    markEnded(event) {
      if (link.mark() === null) return;
      const cursor = cursorAfter(event);
      if (event.type === "restarted") restartedAt = cursor;
      const key = findEndedKey(event);
      if (key !== null) endedAt = (endedAt ?? new Map<string, Cursor>()).set(key, cursor);
    },
    next() {
      const mark = link.mark();
      if (mark === null) return null;
      if (awaitsSnapshot) {
        awaitsSnapshot = false;
        const snapshot = link.snapshot();
        return snapshot === null || hasEnded(snapshot, mark) ? null : snapshot;
      }
      while (head < items.length) {
        const queued = items[head];
        head += 1;
        if (head === items.length) clear();
        if (queued !== undefined && !hasEnded(queued.item, queued.mark)) return queued.item;
      }
      return null;
    },
  };
}

/** A delta of this length is not joined with the following ones. */
const maxJoinedCharacters = 4_096;

/** Joins two deltas, if they belong to one text and the second continues the first. */
function joinDeltas(item: LiveItem, next: LiveItem): LiveItem | null {
  if (item.type !== "delta" || next.type !== "delta") return null;
  const { delta, n = 1 } = item;
  const { delta: more, n: count = 1 } = next;
  if (!("text" in delta && "text" in more) || delta.kind !== more.kind || delta.id !== more.id) return null;
  if (toAttemptKey(delta) !== toAttemptKey(more) || more.seq !== delta.seq + count) return null;
  if ("providerMetadata" in delta || "providerMetadata" in more || delta.text.length > maxJoinedCharacters) return null;
  return { type: "delta", n: n + count, delta: { ...more, text: delta.text + more.text } };
}

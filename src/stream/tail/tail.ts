/**
 * The items of a session for one consumer: first the log after a cursor, then live items.
 *
 * 1. Each event comes once, in the order of the log, whatever the source drops or repeats. Only a source that skips an event without
 *    calling `readFromLog` breaks this.
 * 2. A live item is dropped if its owner has ended in the log: a delta never comes after its message.
 * 3. At most `maxBehind` items wait. On overflow, or if the source asks for it, all of them are dropped, and the consumer continues
 *    from the log. So a slow consumer neither stalls a run nor grows a queue (STRM-7). It gets one `lagged`, unless it was still
 *    reading the log.
 * 4. Items in progress come after the log, before the live items that continue them.
 * 5. While a tail still has to read the log, it reads and queues nothing before the consumer asks.
 *
 * A tail is plain data, because a process may have many consumers of inactive sessions.
 */
import { deepFreeze, freezeMembers } from "../../core/data/freeze.js";
import type { PublicEvent } from "../../core/view/public-event.js";
import type { ItemsOptions, StreamItem } from "../../runtime/agent/stream-types.js";
import { afterEntry, type Cursor, cursorAfter, cursorBefore, isAfter } from "../cursor.js";
import { findEndedKey, isOfRun, isOver } from "./item-owner.js";
import { addWaiting, clearWaiting, takeWaiting, type WaitingItems } from "./waiting-items.js";

/** Declared as methods, which may use `this`, so that a source is one object without closures. */
export type TailSource = {
  /** The events after a cursor, to the current end of the log. */
  logged(after: Cursor): AsyncIterable<PublicEvent>;
  /** The message that is streaming, and the preliminary results of running calls. */
  inProgress(): readonly StreamItem[];
};

export type TailOptions = Omit<ItemsOptions, "from" | "signal"> & {
  /** Where the items begin. Default: where the live items begin. */
  readonly after?: Cursor;
  /**
   * Whether the run that the consumer wants has ended, so that its end is in the log, and nothing else is needed. Called once, before the
   * first item.
   */
  readonly hasEnded?: (() => Promise<boolean>) | undefined;
  /** Whether the consumer outlives runs and changes of the holder. Default: false. */
  readonly stays?: boolean;
  /** Called once, when the tail ends, so that the source can remove it. */
  readonly onLeave: () => void;
};

export type Tail = Pick<TailOptions, "onLeave"> &
  WaitingItems & {
    readonly live: boolean | "only";
    readonly runId: string | undefined;
    readonly until: string | undefined;
    readonly source: TailSource;
    readonly stays: boolean;
    readonly maxBehind: number;
    readonly joinDeltas: boolean;
    hasEnded: TailOptions["hasEnded"];
    remaining: number;
    /** The cursor after the last event that the consumer got. */
    cursor: Cursor;
    /** Where the log is read from: the cursor, or before it if that is beyond the log. */
    logCursor: Cursor;
    /** Whether the log has to be read before live items are queued, and whether the consumer gets a `lagged`. */
    gap: "none" | "silent" | "lagged";
    /** The log while it is read. Live items wait meanwhile. */
    log: AsyncIterator<PublicEvent> | null;
    /** Items from the log, which come before the waiting ones. */
    fetched: StreamItem[];
    isFetching: boolean;
    /** The keys of everything that ended in the log when it was last read. */
    endedKeys: Set<string> | null;
    ended: { readonly error?: TailError } | null;
    isReturned: boolean;
    stopListening: (() => void) | null;
    pendingReads: PendingRead[];
  };

export type TailError = { readonly cause: unknown };

type PendingRead = {
  readonly resolve: (result: IteratorResult<StreamItem, undefined>) => void;
  readonly reject: (cause: unknown) => void;
};

export type ItemIterator = {
  readonly next: () => Promise<IteratorResult<StreamItem, undefined>>;
  readonly return: () => Promise<IteratorResult<StreamItem, undefined>>;
  readonly [Symbol.asyncIterator]: () => ItemIterator;
};

export const defaultMaxBehind = 1_024;

/** @param liveAfter the entry after which the source pushes every item */
export function createTail(source: TailSource, liveAfter: number, options: TailOptions): Tail {
  const { live = true, runId, until, hasEnded, onLeave, stays = false, joinDeltas = false } = options;
  const { after, maxBehind = defaultMaxBehind, limit = Number.POSITIVE_INFINITY } = options;
  const needsLogFirst = after !== undefined && live !== "only" && isAfter(afterEntry(liveAfter), after);
  const tail: Tail = {
    source,
    live,
    runId,
    until,
    hasEnded,
    onLeave,
    stays,
    maxBehind,
    joinDeltas,
    remaining: limit,
    cursor:
      after === undefined || (live === "only" && !isAfter(after, afterEntry(liveAfter)))
        ? afterEntry(liveAfter)
        : after,
    logCursor: needsLogFirst ? after : afterEntry(liveAfter),
    gap: needsLogFirst ? "silent" : "none",
    log: null,
    fetched: [],
    isFetching: false,
    endedKeys: null,
    first: undefined,
    buffer: [],
    head: 0,
    lastJoined: null,
    ended: null,
    isReturned: false,
    stopListening: null,
    pendingReads: [],
  };
  if (!needsLogFirst) pushInProgress(tail);
  return tail;
}

function pushInProgress(tail: Tail): void {
  for (const item of tail.source.inProgress()) pushItem(tail, item);
}

/** Adds a live item. */
export function pushItem(tail: Tail, item: StreamItem): void {
  if (tail.ended !== null || tail.gap !== "none" || !isOfConsumer(tail, item)) return;
  if (!addWaiting(tail, item, tail)) continueFromLog(tail);
  if (tail.pendingReads.length > 0) serveReads(tail);
}

/**
 * Adds the end of a run, which may lie before the cursor of the tail: the cursor then moves back to it, and any later read of the log
 * begins there. Waiting items still come first.
 */
export function pushKnownEnd(tail: Tail, end: PublicEvent): void {
  if (!isAfter(end, tail.cursor)) {
    tail.cursor = cursorBefore(end);
    tail.logCursor = tail.cursor;
  }
  pushItem(tail, end);
}

/** Moves the tail back, because the log after this entry is another one. */
export function moveTail(tail: Tail, seq: number): void {
  tail.cursor = afterEntry(seq);
  tail.logCursor = tail.cursor;
}

/** Called when events are in the log but were not pushed: the consumer gets them from the log. */
export function readFromLog(tail: Tail): void {
  if (tail.ended !== null || tail.gap !== "none") return;
  continueFromLog(tail);
  if (tail.pendingReads.length > 0) serveReads(tail);
}

function continueFromLog(tail: Tail): void {
  clearWaiting(tail);
  tail.gap = tail.log === null ? "lagged" : "silent";
}

/** Ends the tail. The consumer still gets the waiting items, and then the error, if there is one. */
export function endTail(tail: Tail, error?: TailError): void {
  if (tail.ended !== null) return;
  tail.ended = error === undefined ? {} : { error };
  serveReads(tail);
  leave(tail);
}

/** Ends the tail when the signal is aborted. Waiting items, and the log up to that point, are still returned. */
export function endOnAbort(tail: Tail, signal: AbortSignal): void {
  if (signal.aborted) endTail(tail);
  if (tail.ended !== null) return;
  const stop = () => endTail(tail);
  tail.stopListening = () => signal.removeEventListener("abort", stop);
  signal.addEventListener("abort", stop, { once: true });
}

/** Ends the tail at once: the consumer gets nothing more. */
function closeTail(tail: Tail): void {
  tail.isReturned = true;
  tail.gap = "none";
  tail.fetched = [];
  clearWaiting(tail);
  tail.log?.return?.().catch(() => {});
  tail.log = null;
  if (tail.ended !== null) return;
  tail.ended = {};
  leave(tail);
}

function leave(tail: Tail): void {
  tail.stopListening?.();
  tail.onLeave();
}

/** The items as an async iterable. All iterators share one sequence. `return` ends the tail. */
export function createItems(tail: Tail): ItemIterator {
  return {
    // For a consumer that keeps up, each item costs one promise.
    next() {
      const item = tail.pendingReads.length === 0 ? takeItem(tail) : undefined;
      return item === undefined ? readNext(tail) : Promise.resolve({ done: false, value: item });
    },
    return() {
      closeTail(tail);
      serveReads(tail);
      return Promise.resolve(doneResult);
    },
    [Symbol.asyncIterator]: returnThis,
  };
}

function returnThis(this: ItemIterator): ItemIterator {
  return this;
}

const doneResult: IteratorResult<StreamItem, undefined> = { done: true, value: undefined };

function readNext(tail: Tail): Promise<IteratorResult<StreamItem, undefined>> {
  return new Promise((resolve, reject) => {
    const read = { resolve, reject };
    // A new array of one takes less memory than a push, and almost all consumers have one pending read.
    if (tail.pendingReads.length === 0) tail.pendingReads = [read];
    else tail.pendingReads.push(read);
    serveReads(tail);
  });
}

/** Resolves pending reads with available items, in order. */
function serveReads(tail: Tail): void {
  const { pendingReads } = tail;
  while (pendingReads.length > 0) {
    const item = takeItem(tail);
    const { ended } = tail;
    if (item !== undefined) pendingReads.shift()?.resolve({ done: false, value: item });
    else if (tail.isFetching && !tail.isReturned) return;
    else if (needsLog(tail)) void fetchFromLog(tail);
    else if (ended === null) return;
    else if (ended.error === undefined) pendingReads.shift()?.resolve(doneResult);
    else {
      pendingReads.shift()?.reject(ended.error.cause);
      tail.ended = {};
    }
  }
}

/** Whether the consumer still gets events from the log. */
export function isCatchingUp({ gap, log }: Tail): boolean {
  return gap !== "none" || log !== null;
}

function needsLog({ gap, log, hasEnded, isReturned }: Tail): boolean {
  return !isReturned && (gap !== "none" || log !== null || hasEnded !== undefined);
}

/** The next item that is wanted, without waiting. */
function takeItem(tail: Tail): StreamItem | undefined {
  for (let item = takeFirst(tail); item !== undefined; item = takeFirst(tail)) {
    if ("seq" in item) {
      tail.cursor = cursorAfter(item);
      tail.logCursor = tail.cursor;
    }
    const isWanted = tail.live !== "only" || !("seq" in item);
    if (isWanted && "seq" in item) tail.remaining -= 1;
    if (tail.remaining <= 0 || isRunEnd(tail, item)) closeTail(tail);
    if (isWanted) return freezeItem(item);
  }
  return undefined;
}

function takeFirst(tail: Tail): StreamItem | undefined {
  if (tail.fetched.length > 0) return tail.fetched.shift();
  if (tail.isFetching || needsLog(tail)) return undefined;
  for (let item = takeWaiting(tail); item !== undefined; item = takeWaiting(tail)) {
    if (isObsolete(tail, item)) {
      if (isRunEnd(tail, item)) closeTail(tail);
      continue;
    }
    // This event was not in the log, so every later item is newer than everything in it.
    if ("seq" in item) tail.endedKeys = null;
    return item;
  }
  return undefined;
}

/**
 * Freezes the members of an item, because the next requests to the model share them. An item with several consumers is
 * already frozen as a whole. Each consumer has its own item for a delta, and a shared delta was frozen when it was published.
 */
function freezeItem(item: StreamItem): StreamItem {
  return item.type === "delta" || hasOnlyScalars(item) || Object.isFrozen(item) ? item : freezeMembers(item);
}

/** Whether an event contains only strings and numbers. About half of the events of a step do. */
function hasOnlyScalars({ type }: StreamItem): boolean {
  return type === "text" || type === "reasoning" || type === "call_start";
}

/** Reads the next wanted event of the log, or its end. */
async function fetchFromLog(tail: Tail): Promise<void> {
  tail.isFetching = true;
  try {
    if (tail.hasEnded !== undefined) await checkRunEnded(tail, tail.hasEnded);
    if (tail.log !== null || tail.gap !== "none") await fetchEvent(tail);
  } catch (cause) {
    if (!tail.isReturned) failTail(tail, cause);
  }
  tail.isFetching = false;
  serveReads(tail);
}

/** If the run has ended, its end is in the log, and nothing else is needed. */
async function checkRunEnded(tail: Tail, hasEnded: () => Promise<boolean>): Promise<void> {
  const isEnded = await hasEnded();
  tail.hasEnded = undefined;
  if (!isEnded || tail.isReturned) return;
  clearWaiting(tail);
  tail.gap = tail.live === "only" ? "none" : "silent";
  endTail(tail);
}

async function fetchEvent(tail: Tail): Promise<void> {
  // A consumer whose cursor is beyond the log misses no event.
  const isLagged = tail.log === null && tail.gap === "lagged" && !isAfter(tail.cursor, tail.logCursor);
  const event = await readWanted(tail, tail.log ?? openLog(tail));
  if (tail.isReturned) return;
  if (isLagged) tail.fetched.push({ type: "lagged", fromSeq: event?.seq ?? tail.cursor.seq + 1 });
  if (event === null) tail.log = null;
  else tail.fetched.push(event);
}

function openLog(tail: Tail): AsyncIterator<PublicEvent> {
  tail.gap = "none";
  tail.endedKeys = null;
  tail.log = tail.source.logged(tail.logCursor)[Symbol.asyncIterator]();
  // From here on, live items are queued.
  pushInProgress(tail);
  return tail.log;
}

async function readWanted(tail: Tail, log: AsyncIterator<PublicEvent>): Promise<PublicEvent | null> {
  for (;;) {
    const { done, value } = await log.next();
    if (done === true) return null;
    if (isOfConsumer(tail, value)) recordEnd(tail, value);
    if (isRunEnd(tail, value) && isObsolete(tail, value)) closeTail(tail);
    if (tail.isReturned) return null;
    if (isOfConsumer(tail, value) && !isObsolete(tail, value)) return deepFreeze(value);
  }
}

/** Also drops the waiting items: they come after events that the consumer never gets. */
function failTail(tail: Tail, cause: unknown): void {
  const isNew = tail.ended === null;
  // Without this, serveReads would query the failed store in a loop.
  tail.hasEnded = undefined;
  tail.log = null;
  tail.gap = "none";
  clearWaiting(tail);
  tail.ended = { error: { cause } };
  if (isNew) leave(tail);
}

function recordEnd(tail: Tail, event: PublicEvent): void {
  const key = findEndedKey(event);
  if (key === null) return;
  tail.endedKeys ??= new Set();
  tail.endedKeys.add(key);
  // At least one pushed item belongs to each key. With more than `maxBehind` later keys, no waiting item belongs to the oldest.
  const [oldest] = tail.endedKeys;
  if (tail.endedKeys.size > tail.maxBehind && oldest !== undefined) tail.endedKeys.delete(oldest);
}

/** Whether the consumer already has the event, or the end of the item's owner. */
function isObsolete({ cursor, endedKeys }: Tail, item: StreamItem): boolean {
  return "seq" in item ? !isAfter(item, cursor) : endedKeys !== null && isOver(item, endedKeys);
}

function isOfConsumer({ live, runId }: Tail, item: StreamItem): boolean {
  if (live === false && !("seq" in item)) return false;
  return runId === undefined || isOfRun(item, runId);
}

function isRunEnd({ until }: Tail, item: StreamItem): boolean {
  return until !== undefined && item.type === "final" && item.runId === until;
}

/**
 * One consumer of a session's events and deltas.
 *
 * If a consumer falls more than 1,024 items behind, it gets one `lagged` and continues from the log. So a slow consumer
 * neither stalls the run nor grows a queue (STRM-7). Events come in the order of the log, each once; deltas are live
 * only. Waiting deltas of one text are joined if the consumer has set `joinDeltas`.
 */

import { freezeMembers } from "../../core/data/freeze.js";
import type { ToolOutput } from "../../core/data/message.js";
import type { PublicEvent } from "../../core/view/public-event.js";
import { afterEntry, type Cursor, cursorAfter } from "../../stream/cursor.js";
import type { Preliminary, Snapshot, StreamItem } from "../agent/stream-types.js";
import type { LogStore } from "../log/read-entries.js";
import { readEvents } from "../log/read-log.js";
import { toPartial } from "../model/assembled-message.js";
import type { MessageAssembly } from "../model/message-assembly.js";
import { type JoinedDelta, joinDelta } from "./join-deltas.js";

export const defaultMaxBehind = 1_024;

/** The cursor of a consumer, and the items that it has not read yet. */
export type Subscription = Omit<SubscriptionOptions, "maxBehind" | "joinDeltas"> & {
  readonly maxBehind: number;
  readonly joinDeltas: boolean;
  /** The session whose items are consumed. */
  readonly source: StreamSource;
  /** The item before those of the buffer. With it, a consumer that keeps up needs no array. */
  first: StreamItem | undefined;
  buffer: StreamItem[];
  head: number;
  /** The last waiting item, if it is a joined delta. */
  lastJoined: JoinedDelta | null;
  /** Dropped events, re-read from the log, in reverse order. They come before all other items, and only once. */
  recovered: StreamItem[] | null;
  recoveredUpTo: number;
  recovering: boolean;
  /** The cursor after the last event that the consumer got. */
  cursor: Cursor;
  lagged: boolean;
  ended: { readonly error?: SubscriptionError } | null;
  isReturned: boolean;
  /** Pending calls of `next`. */
  pendingReads: PendingRead[];
};

type SubscriptionError = { readonly cause: unknown };

export type ItemIterator = AsyncIterable<StreamItem> & {
  readonly next: () => Promise<IteratorResult<StreamItem, undefined>>;
  readonly return: () => Promise<IteratorResult<StreamItem, undefined>>;
};

export type SubscriptionOptions = {
  /** Only items of this run; undefined for all items. */
  readonly runId: string | undefined;
  /** Whether the subscription outlives runs and changes of the holder. */
  readonly stays: boolean;
  /** How many items may wait for the consumer. Default: `defaultMaxBehind`. */
  readonly maxBehind?: number;
  /** Default: false. */
  readonly joinDeltas?: boolean;
  /** Called once, when the subscription ends. */
  readonly onLeave: () => void;
};

/** A session that is driven here, or followed. */
export type StreamSource = {
  readonly sessionId: string;
  readonly parts: { readonly store: LogStore };
  /** The memory of the driver in this process, with the message that is being streamed. */
  memory: StreamedWork | null;
};

/** The visible part of work in flight, for a consumer that joins while it streams. */
export type StreamedWork = {
  readonly partial: MessageAssembly | null;
  preliminary: Map<string, ToolOutput> | null;
};

/** @param after the entry after which the events begin */
export function createSubscription(source: StreamSource, options: SubscriptionOptions, after: number): Subscription {
  const { runId, stays, onLeave, maxBehind = defaultMaxBehind, joinDeltas = false } = options;
  const subscription: Subscription = {
    source,
    runId,
    stays,
    maxBehind,
    joinDeltas,
    onLeave,
    first: undefined,
    buffer: [],
    head: 0,
    lastJoined: null,
    recovered: null,
    recoveredUpTo: 0,
    recovering: false,
    cursor: afterEntry(after),
    lagged: false,
    ended: null,
    isReturned: false,
    pendingReads: [],
  };
  const snapshot = createSnapshot(source);
  if (snapshot !== null) pushItem(subscription, snapshot);
  for (const item of listPreliminary(source)) pushItem(subscription, item);
  return subscription;
}

function listPreliminary({ memory }: StreamSource): readonly Preliminary[] {
  const preliminary = memory?.preliminary ?? null;
  return preliminary === null
    ? []
    : [...preliminary].map(([callKey, output]) => ({ type: "preliminary", callKey, output }));
}

function createSnapshot({ memory }: StreamSource): Snapshot | null {
  const partial = memory?.partial ?? null;
  if (partial === null) return null;
  const { runId, modelCallIndex, attempt } = partial.identity;
  return { type: "snapshot", runId, modelCallIndex, attempt, deltaSeq: partial.seq, ...toPartial(partial) };
}

export function pushItem(subscription: Subscription, item: StreamItem): void {
  const { buffer } = subscription;
  if (subscription.ended !== null || subscription.lagged || !isWanted(subscription, item)) return;
  if (item.type === "preliminary" && replacePreliminary(subscription, item)) return;
  if (item.type === "delta" && subscription.joinDeltas && joinLastItem(subscription, item)) return;
  if (subscription.first === undefined && buffer.length === 0) subscription.first = item;
  else if (buffer.length - subscription.head + 1 < subscription.maxBehind) buffer.push(item);
  else continueFromLog(subscription);
  if (subscription.pendingReads.length > 0) serveReads(subscription);
}

/** The consumer gets a `lagged`, and the rest from the log. */
export function readFromLog(subscription: Subscription): void {
  if (subscription.ended !== null || subscription.lagged) return;
  continueFromLog(subscription);
  if (subscription.pendingReads.length > 0) serveReads(subscription);
}

function continueFromLog(subscription: Subscription): void {
  clearBuffer(subscription);
  subscription.lagged = true;
}

/** Replaces an unread preliminary result by the newest one, so that a slow consumer has at most one for each call. */
function replacePreliminary(subscription: Subscription, item: Preliminary): boolean {
  const { first, buffer, head } = subscription;
  if (first?.type === "preliminary" && first.callKey === item.callKey) {
    subscription.first = item;
    return true;
  }
  for (let index = buffer.length - 1; index >= head; index -= 1) {
    const waiting = buffer[index];
    if (waiting?.type !== "preliminary" || waiting.callKey !== item.callKey) continue;
    buffer[index] = item;
    return true;
  }
  return false;
}

/** Joins the delta with the last waiting item. Returns false if that is not possible. */
function joinLastItem(subscription: Subscription, { delta }: Extract<StreamItem, { readonly type: "delta" }>): boolean {
  const { first, buffer, head } = subscription;
  const isBuffered = buffer.length > head;
  const last = isBuffered ? buffer[buffer.length - 1] : first;
  const joined = last === undefined ? null : joinDelta(last, delta, subscription.lastJoined);
  if (joined === null) return false;
  subscription.lastJoined = joined;
  if (isBuffered) buffer[buffer.length - 1] = joined;
  else subscription.first = joined;
  return true;
}

function clearBuffer(subscription: Subscription): void {
  subscription.first = undefined;
  subscription.buffer = [];
  subscription.head = 0;
}

/** Ends the subscription. The consumer still gets the items in the buffer, and then the error, if there is one. */
export function endSubscription(subscription: Subscription, error?: SubscriptionError): void {
  if (subscription.ended !== null) return;
  subscription.ended = error === undefined ? {} : { error };
  serveReads(subscription);
  subscription.onLeave();
}

/** The items as an async iterable. All iterators share one sequence. `return` ends the subscription. */
export function createItems(subscription: Subscription): ItemIterator {
  return {
    // For a consumer that keeps up, each item costs one promise.
    next() {
      const item =
        subscription.pendingReads.length === 0 && !subscription.recovering ? takeItem(subscription) : undefined;
      return item === undefined ? readNext(subscription) : Promise.resolve({ done: false, value: item });
    },
    return() {
      subscription.isReturned = true;
      subscription.lagged = false;
      endSubscription(subscription);
      return Promise.resolve(doneResult);
    },
    [Symbol.asyncIterator]: returnThis,
  };
}

function returnThis(this: ItemIterator): ItemIterator {
  return this;
}

function readNext(subscription: Subscription): Promise<IteratorResult<StreamItem, undefined>> {
  return new Promise((resolve, reject) => {
    const read = { resolve, reject };
    // A new array of one takes less memory than a push, and almost all consumers have one pending read.
    if (subscription.pendingReads.length === 0) subscription.pendingReads = [read];
    else subscription.pendingReads.push(read);
    serveReads(subscription);
  });
}

function takeItem(subscription: Subscription): StreamItem | undefined {
  if (subscription.isReturned) return undefined;
  const recoveredItem = subscription.recovered?.pop();
  if (recoveredItem !== undefined) return recordSeen(subscription, recoveredItem);
  for (let item = takeBuffered(subscription); item !== undefined; item = takeBuffered(subscription))
    if (item.type === "delta" || !("seq" in item) || item.seq > subscription.recoveredUpTo)
      return recordSeen(subscription, item);
  return undefined;
}

function takeBuffered(subscription: Subscription): StreamItem | undefined {
  const { first, buffer } = subscription;
  if (first !== undefined) {
    subscription.first = undefined;
    return first;
  }
  const item = buffer[subscription.head];
  if (item === undefined) return undefined;
  subscription.head += 1;
  if (subscription.head === buffer.length) clearBuffer(subscription);
  return item;
}

/**
 * Freezes the members of an item, because the next requests to the model share them. An item with several consumers is
 * already frozen as a whole.
 */
function recordSeen(subscription: Subscription, item: StreamItem): StreamItem {
  // Each consumer has its own item for a delta, and a shared delta was frozen when it was published.
  if (item.type === "delta") return item;
  if ("seq" in item) subscription.cursor = cursorAfter(item);
  return hasOnlyScalars(item) || Object.isFrozen(item) ? item : freezeMembers(item);
}

/** Whether an event contains only strings and numbers, as half of the events of a step do. */
function hasOnlyScalars({ type }: StreamItem): boolean {
  return type === "text" || type === "reasoning" || type === "call_start";
}

/** The logged events after the last event that the consumer got. */
async function readMissed(subscription: Subscription): Promise<readonly PublicEvent[]> {
  const { parts, sessionId } = subscription.source;
  const events: PublicEvent[] = [];
  for await (const event of readEvents(parts.store, sessionId, subscription.cursor))
    if (isWanted(subscription, event)) events.push(event);
  return events;
}

async function recoverFromLog(subscription: Subscription): Promise<void> {
  subscription.lagged = false;
  subscription.recovering = true;
  try {
    const snapshot = createSnapshot(subscription.source);
    const preliminary = listPreliminary(subscription.source);
    const events = await readMissed(subscription);
    const lagged: StreamItem = { type: "lagged", fromSeq: events[0]?.seq ?? subscription.cursor.seq + 1 };
    const isStreamed = snapshot !== null && isWanted(subscription, snapshot);
    const open = preliminary.filter(
      (item) => isWanted(subscription, item) && !events.some((event) => endsCall(event, item)),
    );
    subscription.recovered = [...open, ...(isStreamed ? [snapshot] : []), ...events.toReversed(), lagged];
    subscription.recoveredUpTo = events.at(-1)?.seq ?? subscription.recoveredUpTo;
  } catch (cause) {
    const isNew = subscription.ended === null;
    subscription.ended = { error: { cause } };
    if (isNew) subscription.onLeave();
  }
  subscription.recovering = false;
  serveReads(subscription);
}

function endsCall(event: PublicEvent, { callKey }: Preliminary): boolean {
  return event.type === "call_complete" && event.callKey === callKey;
}

/** Resolves pending reads with available items, in order. */
function serveReads(subscription: Subscription): void {
  const { pendingReads } = subscription;
  while (pendingReads.length > 0 && !subscription.recovering) {
    const item = takeItem(subscription);
    const { ended } = subscription;
    if (item !== undefined) pendingReads.shift()?.resolve({ done: false, value: item });
    else if (subscription.lagged) void recoverFromLog(subscription);
    else if (ended === null) return;
    else if (ended.error === undefined) pendingReads.shift()?.resolve(doneResult);
    else {
      pendingReads.shift()?.reject(ended.error.cause);
      subscription.ended = {};
    }
  }
}

type PendingRead = {
  readonly resolve: (result: IteratorResult<StreamItem, undefined>) => void;
  readonly reject: (cause: unknown) => void;
};

const doneResult: IteratorResult<StreamItem, undefined> = { done: true, value: undefined };

function isWanted({ runId }: Subscription, item: StreamItem): boolean {
  return runId === undefined || isOfRun(item, runId);
}

/** An item without a run id belongs to the session, and so to every run. */
export function isOfRun(item: StreamItem, runId: string): boolean {
  if (item.type === "delta") return item.delta.runId === runId;
  if (item.type === "progress" || item.type === "preliminary") return item.callKey.startsWith(`${runId}/`);
  return !("runId" in item) || item.runId === runId;
}

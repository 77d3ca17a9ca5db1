/**
 * One consumer of a session's events and deltas.
 *
 * If a consumer falls more than 1,024 items behind, it gets one `lagged` and continues from the log. So a slow consumer
 * neither stalls the run nor grows a queue (STRM-7). Events come in the order of the log, each once; deltas are live
 * only. Waiting deltas of one text become one if the consumer wants that.
 */

import { freezeInside } from "../../core/data/freeze.js";
import type { ToolOutput } from "../../core/data/message.js";
import type { PublicEvent } from "../../core/view/public-event.js";
import { afterEntry, type Cursor, cursorAfter } from "../../stream/cursor.js";
import type { Preliminary, Snapshot, StreamItem } from "../agent/stream-types.js";
import type { LogStore } from "../log/read-entries.js";
import { readEvents } from "../log/read-log.js";
import { partialOf } from "../model/assembled-message.js";
import type { MessageAssembly } from "../model/message-assembly.js";
import { type JoinedDelta, joinedWith } from "./joined-deltas.js";

export const maxBehind = 1_024;

/** The position of a consumer, and the items that it has not read yet. */
export type Subscription = Omit<SubscriptionOptions, "mostBehind" | "joinDeltas"> & {
  readonly mostBehind: number;
  readonly joinDeltas: boolean;
  /** The session whose items are consumed. */
  readonly source: Source;
  /** The item before those of the buffer. With it, a consumer that keeps up needs no array. */
  first: StreamItem | undefined;
  buffer: StreamItem[];
  head: number;
  /** The last item that waits, if it stands for several deltas. */
  joined: JoinedDelta | null;
  /** Dropped events, read again from the log, the last one first. They come before all other items, and only once. */
  recovered: StreamItem[] | null;
  recoveredUpTo: number;
  recovering: boolean;
  /** The position behind the last event that the consumer got. */
  seen: Cursor;
  lagged: boolean;
  ended: { readonly error?: Failure } | null;
  left: boolean;
  /** Pending calls of `next`. */
  asked: PendingRead[];
};

type Failure = { readonly cause: unknown };

export type Items = AsyncIterable<StreamItem> & {
  readonly next: () => Promise<IteratorResult<StreamItem, undefined>>;
  readonly return: () => Promise<IteratorResult<StreamItem, undefined>>;
};

export type SubscriptionOptions = {
  /** If given, only items of this run are wanted. */
  readonly runId: string | undefined;
  /** Whether the subscription outlives runs and changes of the holder. */
  readonly stays: boolean;
  /** How many items may wait for the consumer. Default: `maxBehind`. */
  readonly mostBehind?: number;
  /** Default: false. */
  readonly joinDeltas?: boolean;
  /** Called once, when no more items are wanted. */
  readonly onLeave: () => void;
};

/** A session that is driven here, or followed. */
export type Source = {
  readonly sessionId: string;
  readonly parts: { readonly store: LogStore };
  /** The memory of the driver in this process, with the message that is being streamed. */
  memory: StreamedWork | null;
};

/** What is shown of work in flight, for a consumer that joins in the middle. */
export type StreamedWork = {
  readonly partial: MessageAssembly | null;
  preliminary: Map<string, ToolOutput> | null;
};

/** @param after the entry after which the consumer wants events */
export function createSubscription(source: Source, options: SubscriptionOptions, after: number): Subscription {
  const { runId, stays, onLeave, mostBehind = maxBehind, joinDeltas = false } = options;
  const subscription: Subscription = {
    source,
    runId,
    stays,
    mostBehind,
    joinDeltas,
    onLeave,
    first: undefined,
    buffer: [],
    head: 0,
    joined: null,
    recovered: null,
    recoveredUpTo: 0,
    recovering: false,
    seen: afterEntry(after),
    lagged: false,
    ended: null,
    left: false,
    asked: [],
  };
  const streamed = snapshotOf(source);
  if (streamed !== null) pushItem(subscription, streamed);
  for (const item of preliminaryOf(source)) pushItem(subscription, item);
  return subscription;
}

function preliminaryOf({ memory }: Source): readonly Preliminary[] {
  const newest = memory?.preliminary ?? null;
  return newest === null ? [] : [...newest].map(([callKey, output]) => ({ type: "preliminary", callKey, output }));
}

function snapshotOf({ memory }: Source): Snapshot | null {
  const partial = memory?.partial ?? null;
  if (partial === null) return null;
  const { runId, modelCallIndex, attempt } = partial.identity;
  return { type: "snapshot", runId, modelCallIndex, attempt, deltaSeq: partial.seq, ...partialOf(partial) };
}

export function pushItem(subscription: Subscription, item: StreamItem): void {
  const { buffer } = subscription;
  if (subscription.ended !== null || subscription.lagged || !isWanted(subscription, item)) return;
  if (item.type === "preliminary" && replaced(subscription, item)) return;
  if (item.type === "delta" && subscription.joinDeltas && isJoined(subscription, item)) return;
  if (subscription.first === undefined && buffer.length === 0) subscription.first = item;
  else if (buffer.length - subscription.head + 1 < subscription.mostBehind) buffer.push(item);
  else {
    drop(subscription);
    subscription.lagged = true;
  }
  if (subscription.asked.length > 0) serve(subscription);
}

/** A preliminary result that nobody has read yet gives way to the newest one: a slow consumer holds one a call. */
function replaced(subscription: Subscription, item: Preliminary): boolean {
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

/** Whether the delta has become part of the last item that waits. */
function isJoined(subscription: Subscription, { delta }: Extract<StreamItem, { readonly type: "delta" }>): boolean {
  const { first, buffer, head } = subscription;
  const inBuffer = buffer.length > head;
  const last = inBuffer ? buffer[buffer.length - 1] : first;
  const joined = last === undefined ? null : joinedWith(last, delta, subscription.joined);
  if (joined === null) return false;
  subscription.joined = joined;
  if (inBuffer) buffer[buffer.length - 1] = joined;
  else subscription.first = joined;
  return true;
}

function drop(subscription: Subscription): void {
  subscription.first = undefined;
  subscription.buffer = [];
  subscription.head = 0;
}

/** Ends the subscription. The consumer still gets the items in the buffer, and then the error, if there is one. */
export function endSubscription(subscription: Subscription, error?: Failure): void {
  if (subscription.ended !== null) return;
  subscription.ended = error === undefined ? {} : { error };
  serve(subscription);
  subscription.onLeave();
}

/** The items as an async iterable. All iterators share one sequence. `return` ends the subscription. */
export function itemsOf(subscription: Subscription): Items {
  return {
    // A consumer that keeps up costs one promise for each item.
    next() {
      const item = subscription.asked.length === 0 && !subscription.recovering ? take(subscription) : undefined;
      return item === undefined ? ask(subscription) : Promise.resolve({ done: false, value: item });
    },
    return() {
      subscription.left = true;
      subscription.lagged = false;
      endSubscription(subscription);
      return Promise.resolve(over);
    },
    [Symbol.asyncIterator]: itself,
  };
}

function itself(this: Items): Items {
  return this;
}

function ask(subscription: Subscription): Promise<IteratorResult<StreamItem, undefined>> {
  return new Promise((resolve, reject) => {
    const one = { resolve, reject };
    // A new array of one takes less memory than a push, and almost all consumers have one pending read.
    if (subscription.asked.length === 0) subscription.asked = [one];
    else subscription.asked.push(one);
    serve(subscription);
  });
}

function take(subscription: Subscription): StreamItem | undefined {
  if (subscription.left) return undefined;
  const kept = subscription.recovered?.pop();
  if (kept !== undefined) return noted(subscription, kept);
  for (let item = takeLive(subscription); item !== undefined; item = takeLive(subscription))
    if (item.type === "delta" || !("seq" in item) || item.seq > subscription.recoveredUpTo)
      return noted(subscription, item);
  return undefined;
}

function takeLive(subscription: Subscription): StreamItem | undefined {
  const { first, buffer } = subscription;
  if (first !== undefined) {
    subscription.first = undefined;
    return first;
  }
  const item = buffer[subscription.head];
  if (item === undefined) return undefined;
  subscription.head += 1;
  if (subscription.head === buffer.length) drop(subscription);
  return item;
}

/** The next requests of the model hold the same parts: they are frozen. An item that several consumers get is frozen whole. */
function noted(subscription: Subscription, item: StreamItem): StreamItem {
  // An item of a delta is new for each consumer, and whoever made the delta has frozen it if it is shared.
  if (item.type === "delta") return item;
  if ("seq" in item) subscription.seen = cursorAfter(item);
  return isFlat(item) || Object.isFrozen(item) ? item : freezeInside(item);
}

/** Events that hold nothing but texts and numbers: half of those of a step. */
function isFlat({ type }: StreamItem): boolean {
  return type === "text" || type === "reasoning" || type === "call_start";
}

/** The events of the log behind the last event that the consumer got. */
async function missed(subscription: Subscription): Promise<readonly PublicEvent[]> {
  const { parts, sessionId } = subscription.source;
  const events: PublicEvent[] = [];
  for await (const event of readEvents(parts.store, sessionId, subscription.seen))
    if (isWanted(subscription, event)) events.push(event);
  return events;
}

async function recover(subscription: Subscription): Promise<void> {
  subscription.lagged = false;
  subscription.recovering = true;
  try {
    const streamed = snapshotOf(subscription.source);
    const newest = preliminaryOf(subscription.source);
    const events = await missed(subscription);
    const lagged: StreamItem = { type: "lagged", fromSeq: events[0]?.seq ?? subscription.seen.seq + 1 };
    const isStreamed = streamed !== null && isWanted(subscription, streamed);
    const open = newest.filter((item) => isWanted(subscription, item) && !events.some((event) => isEndOf(event, item)));
    subscription.recovered = [...open, ...(isStreamed ? [streamed] : []), ...events.toReversed(), lagged];
    subscription.recoveredUpTo = events.at(-1)?.seq ?? subscription.recoveredUpTo;
  } catch (cause) {
    const isNew = subscription.ended === null;
    subscription.ended = { error: { cause } };
    if (isNew) subscription.onLeave();
  }
  subscription.recovering = false;
  serve(subscription);
}

function isEndOf(event: PublicEvent, { callKey }: Preliminary): boolean {
  return event.type === "call_complete" && event.callKey === callKey;
}

/** Resolves pending reads with available items, in order. */
function serve(subscription: Subscription): void {
  const { asked } = subscription;
  while (asked.length > 0 && !subscription.recovering) {
    const item = take(subscription);
    const { ended } = subscription;
    if (item !== undefined) asked.shift()?.resolve({ done: false, value: item });
    else if (subscription.lagged) void recover(subscription);
    else if (ended === null) return;
    else if (ended.error === undefined) asked.shift()?.resolve(over);
    else {
      asked.shift()?.reject(ended.error.cause);
      subscription.ended = {};
    }
  }
}

type PendingRead = {
  readonly resolve: (result: IteratorResult<StreamItem, undefined>) => void;
  readonly reject: (cause: unknown) => void;
};

const over: IteratorResult<StreamItem, undefined> = { done: true, value: undefined };

function isWanted({ runId }: Subscription, item: StreamItem): boolean {
  return runId === undefined || isOfRun(item, runId);
}

/** An item without a run id belongs to the session, and so to every run. */
export function isOfRun(item: StreamItem, runId: string): boolean {
  if (item.type === "delta") return item.delta.runId === runId;
  if (item.type === "progress" || item.type === "preliminary") return item.callKey.startsWith(`${runId}/`);
  return !("runId" in item) || item.runId === runId;
}

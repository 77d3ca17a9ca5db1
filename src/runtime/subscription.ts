/**
 * One consumer of a session's events and deltas.
 *
 * A consumer more than 1,024 items behind gets one `lagged` and goes on from the log; it neither stalls the run nor grows
 * a queue (STRM-7). Events come in the order of the log, each once; deltas are live only.
 */
import type { AssistantMessage } from "../core/message.js";
import type { PublicEvent } from "../core/public-event.js";
import type { MessageDelta } from "../ports/model.js";
import type { OpenTextPart } from "./assembled.js";

/** The message that is being streamed, for those who come in the middle: later deltas go on from it. */
export type Snapshot = {
  readonly type: "snapshot";
  readonly runId: string;
  readonly modelCallIndex: number;
  readonly attempt: number;
  /** The number of the last delta in it. */
  readonly deltaSeq: number;
  /** What there is of the message; parts that have begun and say nothing yet are in it too. */
  readonly message: AssistantMessage;
  /** The parts that later deltas may add to: the id that those name, and the part's place in the message. */
  readonly open: readonly OpenTextPart[];
};

export type StreamItem =
  | PublicEvent
  | { readonly type: "delta"; readonly delta: MessageDelta }
  | Snapshot
  | { readonly type: "progress"; readonly callKey: string; readonly note: string }
  /** Items were dropped; what the log has of them follows, from this entry on, and what is being streamed. */
  | { readonly type: "lagged"; readonly fromSeq: number };

export const maxBehind = 1_024;

export type Subscription = {
  readonly push: (item: StreamItem) => void;
  /** No more items come; those that did can still be had, and then the error, if it ends with one. */
  readonly end: (error?: { readonly cause: unknown }) => void;
  /** One sequence for all who ask; to leave it is to want no more items. */
  readonly items: Items;
};

export type Items = AsyncIterable<StreamItem> & {
  readonly next: () => Promise<IteratorResult<StreamItem, undefined>>;
  readonly return: () => Promise<IteratorResult<StreamItem, undefined>>;
};

export type SubscriptionOptions = {
  /** The entry after which the consumer wants events. */
  readonly after: number;
  /** The events from an entry on, from the store. */
  readonly readLog: (after: number) => Promise<readonly PublicEvent[]>;
  /** What is being streamed. */
  readonly snapshot: () => Snapshot | null;
  /** The only run whose items are wanted; all unless given. */
  readonly runId?: string;
  /** Called once, when no more items are wanted. */
  readonly onLeave: () => void;
};

export function createSubscription(options: SubscriptionOptions): Subscription {
  const { readLog, snapshot, runId, onLeave } = options;
  const isWanted = (item: StreamItem) => runId === undefined || isOfRun(item, runId);
  /** The item that comes before those of the buffer: a consumer that keeps up needs no array. */
  let first: StreamItem | undefined;
  let buffer: StreamItem[] = [];
  let head = 0;
  /** What the log had of items that were dropped, the last one first; it comes before all others, and what is in it does not come again. */
  let recovered: StreamItem[] = [];
  let recoveredUpTo = 0;
  let recovering = false;
  /** The entry of the last event that the consumer got, and how many of its events those were. */
  let seen = { seq: options.after, events: Number.POSITIVE_INFINITY };
  let lagged = false;
  let ended: { readonly error?: { readonly cause: unknown } } | null = null;
  let left = false;
  /** Those who wait for an item. */
  const asked: Asked[] = [];

  function push(item: StreamItem): void {
    if (ended !== null || lagged || !isWanted(item)) return;
    if (first === undefined && buffer.length === 0) first = item;
    else if (buffer.length - head + 1 < maxBehind) buffer.push(item);
    else {
      drop();
      lagged = true;
    }
    if (asked.length > 0) serve();
  }

  function drop(): void {
    first = undefined;
    buffer = [];
    head = 0;
  }

  function end(error?: { readonly cause: unknown }): void {
    if (ended !== null) return;
    ended = error === undefined ? {} : { error };
    serve();
    onLeave();
  }

  function take(): StreamItem | undefined {
    if (left) return undefined;
    const kept = recovered.pop();
    if (kept !== undefined) return noted(kept);
    for (let item = takeLive(); item !== undefined; item = takeLive())
      if (item.type === "delta" || !("seq" in item) || item.seq > recoveredUpTo) return noted(item);
    return undefined;
  }

  function takeLive(): StreamItem | undefined {
    if (first !== undefined) {
      const item = first;
      first = undefined;
      return item;
    }
    const item = buffer[head];
    if (item === undefined) return undefined;
    head += 1;
    if (head === buffer.length) {
      buffer = [];
      head = 0;
    }
    return item;
  }

  function noted(item: StreamItem): StreamItem {
    if (item.type !== "delta" && "seq" in item)
      seen = { seq: item.seq, events: seen.seq === item.seq ? seen.events + 1 : 1 };
    return item;
  }

  /** What the log has after the last event that the consumer got: an entry may be known in part. */
  async function missed(): Promise<readonly PublicEvent[]> {
    const { seq, events } = seen;
    if (events === Number.POSITIVE_INFINITY) return (await readLog(seq)).filter(isWanted);
    const known = (await readLog(seq - 1)).filter(isWanted);
    let given = events;
    return known.filter((event) => event.seq > seq || --given < 0);
  }

  async function recover(): Promise<void> {
    lagged = false;
    recovering = true;
    try {
      const streamed = snapshot();
      const events = await missed();
      recovered = [...events.toReversed(), { type: "lagged", fromSeq: events[0]?.seq ?? seen.seq + 1 }];
      recoveredUpTo = events.at(-1)?.seq ?? recoveredUpTo;
      if (streamed !== null && isWanted(streamed)) recovered.unshift(streamed);
    } catch (cause) {
      const isNew = ended === null;
      ended = { error: { cause } };
      if (isNew) onLeave();
    }
    recovering = false;
    serve();
  }

  /** Gives those who wait what there is, in the order in which they asked. */
  function serve(): void {
    while (asked.length > 0 && !recovering) {
      const item = take();
      if (item !== undefined) asked.shift()?.resolve({ done: false, value: item });
      else if (lagged) void recover();
      else if (ended === null) return;
      else if (ended.error === undefined) asked.shift()?.resolve(over);
      else {
        asked.shift()?.reject(ended.error.cause);
        ended = {};
      }
    }
  }

  const items: Items = {
    // A consumer that keeps up costs one promise for each item.
    next() {
      const item = asked.length === 0 && !recovering ? take() : undefined;
      if (item !== undefined) return Promise.resolve({ done: false, value: item });
      return new Promise((resolve, reject) => {
        asked.push({ resolve, reject });
        serve();
      });
    },
    return() {
      left = true;
      lagged = false;
      end();
      return Promise.resolve(over);
    },
    [Symbol.asyncIterator]: () => items,
  };

  const streamed = snapshot();
  if (streamed !== null) push(streamed);
  return { push, end, items };
}

type Asked = {
  readonly resolve: (result: IteratorResult<StreamItem, undefined>) => void;
  readonly reject: (cause: unknown) => void;
};

const over: IteratorResult<StreamItem, undefined> = { done: true, value: undefined };

/** What names no run belongs to the session, and so to each. */
function isOfRun(item: StreamItem, runId: string): boolean {
  if (item.type === "delta") return item.delta.runId === runId;
  if (item.type === "progress") return item.callKey.startsWith(`${runId}/`);
  return !("runId" in item) || item.runId === runId;
}

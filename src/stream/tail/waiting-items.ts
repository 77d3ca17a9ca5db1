/**
 * The queue of items for one consumer, in order. A preliminary result replaces the queued one of its call; consecutive text deltas are
 * joined into one, which has the number of the last one.
 */
import type { MessageDelta } from "../../ports/model.js";
import type { StreamItem } from "../../runtime/agent/stream-types.js";

export type WaitingItems = {
  /** The item before the buffer, so that a consumer that keeps up needs no array. */
  first: StreamItem | undefined;
  buffer: StreamItem[];
  head: number;
  /** The last waiting item, if it is a joined delta. */
  lastJoined: JoinedDelta | null;
};

type DeltaItem = Extract<StreamItem, { readonly type: "delta" }>;

type TextDelta = Extract<MessageDelta, { readonly text: string }>;

/** Belongs to one consumer, and grows until the consumer reads it. */
type JoinedDelta = {
  readonly type: "delta";
  n: number;
  readonly delta: { -readonly [Key in keyof TextDelta]: TextDelta[Key] };
};

export function createWaitingItems(): WaitingItems {
  return { first: undefined, buffer: [], head: 0, lastJoined: null };
}

/** Adds an item. Returns false if the queue is full. */
export function addWaiting(
  waiting: WaitingItems,
  item: StreamItem,
  { maxBehind, joinDeltas }: { readonly maxBehind: number; readonly joinDeltas: boolean },
): boolean {
  const { buffer } = waiting;
  if (item.type === "preliminary" && replacePreliminary(waiting, item)) return true;
  if (item.type === "delta" && joinDeltas && joinLastItem(waiting, item)) return true;
  if (waiting.first === undefined && buffer.length === 0) waiting.first = item;
  else if (buffer.length - waiting.head + 1 < maxBehind) buffer.push(item);
  else return false;
  return true;
}

export function takeWaiting(waiting: WaitingItems): StreamItem | undefined {
  const { first, buffer } = waiting;
  if (first !== undefined) {
    waiting.first = undefined;
    return first;
  }
  const item = buffer[waiting.head];
  if (item === undefined) return undefined;
  waiting.head += 1;
  if (waiting.head === buffer.length) clearWaiting(waiting);
  else if (waiting.head >= maxTaken) dropTaken(waiting);
  return item;
}

/** How many taken items may stay in the buffer, which a consumer that always lags a little never empties. */
const maxTaken = 1_024;

function dropTaken(waiting: WaitingItems): void {
  waiting.buffer = waiting.buffer.slice(waiting.head);
  waiting.head = 0;
}

export function clearWaiting(waiting: WaitingItems): void {
  waiting.first = undefined;
  waiting.buffer = [];
  waiting.head = 0;
}

/** Replaces a waiting preliminary result with the newest one, so that a slow consumer has at most one for each call. */
function replacePreliminary(
  waiting: WaitingItems,
  item: Extract<StreamItem, { readonly type: "preliminary" }>,
): boolean {
  const { first, buffer, head } = waiting;
  if (first?.type === "preliminary" && first.callKey === item.callKey) {
    waiting.first = item;
    return true;
  }
  for (let index = buffer.length - 1; index >= head; index -= 1) {
    const other = buffer[index];
    if (other?.type !== "preliminary" || other.callKey !== item.callKey) continue;
    buffer[index] = item;
    return true;
  }
  return false;
}

/** Joins the delta with the last waiting item. Returns false if that is not possible. */
function joinLastItem(waiting: WaitingItems, item: DeltaItem): boolean {
  const { first, buffer, head } = waiting;
  const isBuffered = buffer.length > head;
  const last = isBuffered ? buffer[buffer.length - 1] : first;
  const joined = last === undefined ? null : joinDelta(last, item, waiting.lastJoined);
  if (joined === null) return false;
  waiting.lastJoined = joined;
  if (isBuffered) buffer[buffer.length - 1] = joined;
  else waiting.first = joined;
  return true;
}

/** A joined delta of this length is not extended further. */
const maxJoined = 4_096;

/**
 * Joins a delta with the last waiting item. Null if the two cannot be joined.
 * @param lastJoined the last result of this function for the consumer
 */
function joinDelta(last: StreamItem, next: DeltaItem, lastJoined: JoinedDelta | null): JoinedDelta | null {
  const { delta, n = 1 } = next;
  if (last.type !== "delta" || !canJoin(last.delta, delta, n)) return null;
  const joined: JoinedDelta =
    last === lastJoined ? lastJoined : { type: "delta", n: last.n ?? 1, delta: { ...last.delta } };
  joined.n += n;
  joined.delta.seq = delta.seq;
  joined.delta.text += (delta as TextDelta).text;
  return joined;
}

/**
 * Whether both are deltas of the same text, and `next` directly follows `delta`.
 * @param n how many deltas `next` consists of
 */
function canJoin(delta: MessageDelta, next: MessageDelta, n: number): delta is TextDelta {
  return (
    "text" in delta &&
    "text" in next &&
    next.seq === delta.seq + n &&
    next.kind === delta.kind &&
    next.id === delta.id &&
    next.attempt === delta.attempt &&
    next.modelCallIndex === delta.modelCallIndex &&
    next.runId === delta.runId &&
    !("providerMetadata" in delta || "providerMetadata" in next) &&
    delta.text.length < maxJoined
  );
}

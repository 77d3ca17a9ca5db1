/**
 * Encodes frames as server-sent events without a name, so that they reach `onmessage`. The id of a logged event is its cursor. No other
 * frame has an id, so `Last-Event-ID` is always a cursor.
 */

import type { FamilyItem, StreamItem } from "../index.js";
import { formatCursor } from "../stream/cursor.js";
import type { ByeReason, ControlFrame, ListFrame } from "./client/index.js";

const encoder = new TextEncoder();

/** The default delay before a client reconnects, in milliseconds. */
const defaultRetryMs = 1_500;

export const retryFrame = encoder.encode(`retry: ${defaultRetryMs}\n\n`);
export const heartbeatFrame = encoder.encode(": beat\n\n");

export function encodeControlFrame(frame: ControlFrame | ListFrame): Uint8Array {
  return encoder.encode(`data: ${JSON.stringify(frame)}\n\n`);
}

/** The last frame of a stream. */
export function createByeFrame(why: ByeReason, retryMs = defaultRetryMs): Uint8Array {
  return encodeControlFrame({ type: "bye", why, retryMs });
}

const itemFrames = new WeakMap<object, Uint8Array>();

/** Encodes an item. Each item is encoded once, because the watchers of a session share their items. */
export function encodeItem(item: StreamItem | FamilyItem): Uint8Array {
  const known = itemFrames.get(item);
  if (known !== undefined) return known;
  const cursor = "cursor" in item ? item.cursor : "seq" in item ? formatCursor(item) : null;
  const id = cursor === null ? "" : `id: ${cursor}\n`;
  const data = item.type === "delta" ? { n: 1, ...item } : item;
  const frame = encoder.encode(`${id}data: ${JSON.stringify(data)}\n\n`);
  itemFrames.set(item, frame);
  return frame;
}

/**
 * Encodes frames: server-sent events without a name, so that they reach `onmessage`. An event of the log has its cursor as id. No
 * other frame has an id, so `Last-Event-ID` is always a cursor.
 */

import type { StreamItem } from "../index.js";
import { runIdOfCall } from "../stream/call-key.js";
import { type Cursor, cursorAfter, formatCursor } from "../stream/cursor.js";
import type { ByeReason, ControlFrame, DeltaFrame, ListFrame, SnapshotFrame } from "./client/index.js";

/** A frame that is sent to several watchers, with the same bytes for each. */
export type SharedFrame = {
  readonly bytes: Uint8Array;
  /** The cursor after an event of the log; null for everything else. */
  readonly cursor: Cursor | null;
  /** The run that it belongs to; null for frames of the session. */
  readonly runId: string | null;
  /** The run that it ends; null if it ends none. */
  readonly endsRunId: string | null;
};

const encoder = new TextEncoder();

/** The default delay before a client reconnects, in milliseconds. */
const defaultRetryMs = 1_500;

export const retryFrame = encoder.encode(`retry: ${defaultRetryMs}\n\n`);
export const heartbeatFrame = encoder.encode(": beat\n\n");

export function encodeControlFrame(frame: ControlFrame | ListFrame | SnapshotFrame): Uint8Array {
  return encoder.encode(`data: ${JSON.stringify(frame)}\n\n`);
}

/** The last frame of a stream. */
export function createByeFrame(why: ByeReason, retryMs = defaultRetryMs): Uint8Array {
  return encodeControlFrame({ type: "bye", why, retryMs });
}

/** The frame of an item. Deltas have frames of their own: `createDeltaFrame`. */
export function createItemFrame(item: Exclude<StreamItem, { readonly type: "delta" }>): SharedFrame {
  const cursor = "seq" in item ? cursorAfter(item) : null;
  const id = cursor === null ? "" : `id: ${formatCursor(cursor)}\n`;
  return {
    bytes: encoder.encode(`${id}data: ${JSON.stringify(item)}\n\n`),
    cursor,
    runId: findRunId(item),
    endsRunId: item.type === "final" ? item.runId : null,
  };
}

export function createDeltaFrame(frame: DeltaFrame): SharedFrame {
  return {
    bytes: encoder.encode(`data: ${JSON.stringify(frame)}\n\n`),
    cursor: null,
    runId: frame.delta.runId,
    endsRunId: null,
  };
}

function findRunId(item: Exclude<StreamItem, { readonly type: "delta" }>): string | null {
  if ("runId" in item && typeof item.runId === "string") return item.runId;
  if ("callKey" in item && typeof item.callKey === "string") return runIdOfCall(item.callKey);
  return null;
}

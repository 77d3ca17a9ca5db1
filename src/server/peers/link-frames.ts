/**
 * What a process that holds a session tells one that does not: its live items, and where they stand in the log. The events
 * themselves come from the store.
 */

import type { PublicEvent, StreamItem } from "../../index.js";
import { formatCursor, parseCursor } from "../../stream/cursor.js";

/** An item that the log does not keep. */
export type LiveItem = Exclude<StreamItem, PublicEvent | { readonly type: "lagged" }>;

export type Attempt = { readonly runId: string; readonly modelCallIndex: number; readonly attempt: number };

/** What an event ends: the message of an attempt, or all of a run. */
export type EndOfAttempt =
  | ({ readonly type: "message" | "attempt_failed" | "attempt_withdrawn" } & Attempt)
  | { readonly type: "final"; readonly runId: string };

export type LinkFrame =
  /** The first frame. What comes next was said after this entry. */
  | { readonly type: "open"; readonly seq: number }
  /** The event of this place is in the log. What comes next was said after it. */
  | { readonly type: "told"; readonly place: string; readonly ends?: EndOfAttempt }
  | LiveItem;

export function toldFrame(event: PublicEvent): LinkFrame {
  const place = formatCursor(event);
  const ends = endIn(event);
  return ends === null ? { type: "told", place } : { type: "told", place, ends };
}

/** What an event ends; null if it ends neither an attempt nor a run. */
export function endIn(event: PublicEvent): EndOfAttempt | null {
  switch (event.type) {
    case "message":
    case "attempt_failed":
    case "attempt_withdrawn": {
      const { type, runId, modelCallIndex, attempt } = event;
      return { type, runId, modelCallIndex, attempt };
    }
    case "final":
      return { type: "final", runId: event.runId };
    default:
      return null;
  }
}

/** Null for a frame that this version does not know. @throws Error if it is broken */
export function linkFrameIn(data: unknown): LinkFrame | null {
  if (!isObject(data)) throw broken();
  switch (data.type) {
    case "open":
      if (!Number.isSafeInteger(data.seq)) throw broken();
      break;
    case "told":
      if (typeof data.place !== "string" || parseCursor(data.place) === null) throw broken();
      if (data.ends !== undefined && !(isObject(data.ends) && typeof data.ends.runId === "string")) throw broken();
      break;
    case "delta":
      if (!isAttempt(data.delta) || !isObject(data.delta) || typeof data.delta.kind !== "string") throw broken();
      if (data.n !== undefined && !Number.isSafeInteger(data.n)) throw broken();
      break;
    case "snapshot":
      if (!isAttempt(data) || !isObject(data.message) || !Array.isArray(data.open)) throw broken();
      break;
    case "partial_output":
      if (!isAttempt(data)) throw broken();
      break;
    case "progress":
    case "preliminary":
      if (typeof data.callKey !== "string") throw broken();
      break;
    default:
      return null;
  }
  return data as LinkFrame;
}

function isAttempt(data: unknown): boolean {
  return (
    isObject(data) &&
    typeof data.runId === "string" &&
    typeof data.modelCallIndex === "number" &&
    typeof data.attempt === "number"
  );
}

function isObject(data: unknown): data is { readonly [name: string]: unknown } {
  return typeof data === "object" && data !== null;
}

function broken(): Error {
  return new Error("A frame of another process is broken.");
}

/**
 * The frames that the holder of a session sends to another process: its live items, and their positions in the log. The events
 * themselves come from the store.
 */

import type { PublicEvent, StreamItem } from "../../index.js";
import { formatCursor, parseCursor } from "../../stream/cursor.js";

/** An item that is not in the log. */
export type LiveItem = Exclude<StreamItem, PublicEvent | { readonly type: "lagged" }>;

type AttemptId = { readonly runId: string; readonly modelCallIndex: number; readonly attempt: number };

/** What an event ends: the message of an attempt, or a run. */
export type AttemptEnd =
  | ({ readonly type: "message" | "attempt_failed" | "attempt_withdrawn" } & AttemptId)
  | { readonly type: "final"; readonly runId: string };

export type LinkFrame =
  /** The first frame. The following frames were sent after this entry. */
  | { readonly type: "open"; readonly seq: number }
  /** The event with this cursor is in the log. The following frames were sent after it. */
  | { readonly type: "told"; readonly place: string; readonly ends?: AttemptEnd }
  | LiveItem;

export function createToldFrame(event: PublicEvent): LinkFrame {
  const place = formatCursor(event);
  const ends = findEnd(event);
  return ends === null ? { type: "told", place } : { type: "told", place, ends };
}

/** What an event ends; null if it ends neither an attempt nor a run. */
function findEnd(event: PublicEvent): AttemptEnd | null {
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

/** Null for a frame that this version does not know. @throws Error if it is malformed */
export function parseLinkFrame(data: unknown): LinkFrame | null {
  if (!isObject(data)) throw createBrokenFrameError();
  switch (data.type) {
    case "open":
      if (!Number.isSafeInteger(data.seq)) throw createBrokenFrameError();
      break;
    case "told":
      if (typeof data.place !== "string" || parseCursor(data.place) === null) throw createBrokenFrameError();
      if (data.ends !== undefined && !(isObject(data.ends) && typeof data.ends.runId === "string"))
        throw createBrokenFrameError();
      break;
    case "delta":
      if (!hasAttemptId(data.delta) || !isObject(data.delta) || typeof data.delta.kind !== "string")
        throw createBrokenFrameError();
      if (data.n !== undefined && !Number.isSafeInteger(data.n)) throw createBrokenFrameError();
      break;
    case "snapshot":
      if (!hasAttemptId(data) || !isObject(data.message) || !Array.isArray(data.open)) throw createBrokenFrameError();
      break;
    case "partial_output":
      if (!hasAttemptId(data)) throw createBrokenFrameError();
      break;
    case "progress":
    case "preliminary":
      if (typeof data.callKey !== "string") throw createBrokenFrameError();
      break;
    default:
      return null;
  }
  return data as LinkFrame;
}

function hasAttemptId(data: unknown): boolean {
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

function createBrokenFrameError(): Error {
  return new Error("A frame of another process is broken.");
}

/**
 * The frames in which the holder of a session sends its items to another process.
 */

import { isObject } from "../../core/data/is-object.js";
import type { StreamItem } from "../../index.js";

/** The first frame is `open`. */
export type LinkFrame = { readonly type: "open" } | Exclude<StreamItem, { readonly type: "lagged" }>;

/** Returns null for a frame that this version does not know. @throws Error if the frame is malformed */
export function parseLinkFrame(data: unknown): LinkFrame | null {
  if (!isObject(data)) throw createBrokenFrameError();
  if (Number.isSafeInteger(data.seq)) {
    if (!Number.isSafeInteger(data.index) || typeof data.type !== "string") throw createBrokenFrameError();
    return data as LinkFrame;
  }
  switch (data.type) {
    case "open":
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

function createBrokenFrameError(): Error {
  return new Error("Another process sent a malformed frame.");
}

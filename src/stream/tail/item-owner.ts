/**
 * The owner of an item: an attempt of a model call, a tool call, or a run. An event ends the owner, and none of its items comes later.
 */
import { parseCallKey } from "../../core/data/call-key.js";
import type { PublicEvent } from "../../core/view/public-event.js";
import type { StreamItem } from "../../runtime/agent/stream-types.js";
import { type AttemptOfCall, toAttemptKey } from "../attempt-key.js";

/** The key of the attempt, call or run that an event ends; null if it ends nothing. */
export function findEndedKey(event: PublicEvent): string | null {
  switch (event.type) {
    case "message":
    case "attempt_failed":
    case "attempt_withdrawn":
      return toAttemptKey(event);
    case "call_complete":
      return `call ${event.callKey}`;
    case "final":
      return `run ${event.runId}`;
    default:
      return null;
  }
}

/** Whether an owner of the item has ended. */
export function isOver(item: Exclude<StreamItem, PublicEvent>, ended: Pick<ReadonlySet<string>, "has">): boolean {
  if (item.type === "lagged") return false;
  if (item.type === "progress" || item.type === "preliminary") {
    const { callKey } = item;
    return ended.has(`call ${callKey}`) || ended.has(`run ${parseCallKey(callKey).runId}`);
  }
  const attempt: AttemptOfCall = item.type === "delta" ? item.delta : item;
  return ended.has(toAttemptKey(attempt)) || ended.has(`run ${attempt.runId}`);
}

/** Whether the item belongs to the run. An item without a run id belongs to the session, and so to every run. */
export function isOfRun(item: StreamItem, runId: string): boolean {
  if (item.type === "delta") return item.delta.runId === runId;
  if (item.type === "progress" || item.type === "preliminary") return parseCallKey(item.callKey).runId === runId;
  return !("runId" in item) || item.runId === runId;
}

/**
 * The progress of a session, as lists for a person show it.
 */
import type { SessionSummary } from "../../index.js";
import { isHolderDead } from "../../inspect.js";

/** Whether a run is under way, waits or was interrupted, or a queued message is about to begin one. */
export function isUnfinished({ activity, inbox }: Pick<SessionSummary, "activity" | "inbox">): boolean {
  return activity !== "resting" || inbox > 0;
}

/**
 * `waits_for_person`: for an answer. `answered`: a person has answered, and no process has continued the run. `waits`: for a time, a
 * signal, a result or another agent. `interrupted`: no process drives it.
 */
export type Progress = "running" | "waits_for_person" | "answered" | "waits" | "interrupted";

/** The progress of a session that is unfinished. A summary does not show whether a person has answered. */
export function findProgress({ status, activity, holder, inbox }: SessionSummary): Exclude<Progress, "answered"> {
  if (status === "awaiting_human") return "waits_for_person";
  if (holder !== null && !isHolderDead(holder)) return "running";
  return activity === "waiting" && inbox === 0 ? "waits" : "interrupted";
}

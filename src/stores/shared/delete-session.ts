/**
 * Deletes a session together with what judges have said about it.
 */
import { aBoolean, checkOptions, numberFrom, type OptionTable } from "../../check-options.js";
import { sha256 } from "../../platform/hash.js";
import type { Store } from "../../ports/store.js";

/** Identifies sessions that contain verdicts. */
export const scorePrefix = "score.";

/** Returns the id of the session with the verdicts about a session. */
export function toScoreSessionId(sessionId: string): string {
  return `${scorePrefix}${sha256(sessionId).slice(0, 40)}`;
}

/** How a session is deleted. */
export type DeleteOptions = {
  /** The current time, in epoch milliseconds. */
  readonly now: number;
  /** Whether to delete it although it is held or a run is active. Default: false. */
  readonly force?: boolean;
};

const deleteRules: OptionTable<DeleteOptions> = { now: numberFrom(0), force: aBoolean };

/**
 * Deletes a session as `store.delete` does, and then the session with the verdicts of `createScores` about it, which quotes it.
 *
 * @returns whether there was such a session
 * @throws PawlError `session_active` unless `force`, while the session is held or its run is active; nothing is deleted then
 */
export async function deleteSession(store: Store, sessionId: string, options: DeleteOptions): Promise<boolean> {
  checkOptions("deleteSession()", deleteRules, options);
  const isDeleted = await store.delete(sessionId, options);
  // A verdict that is being made quotes a session that is gone.
  await store.delete(toScoreSessionId(sessionId), { ...options, force: true });
  return isDeleted;
}

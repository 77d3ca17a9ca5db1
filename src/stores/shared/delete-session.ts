/**
 * Deletes a session together with the verdicts about it.
 */
import { aBoolean, checkOptions, numberFrom, type OptionTable } from "../../check-options.js";
import { sha256 } from "../../platform/hash.js";
import type { Store } from "../../ports/store.js";

/** Identifies sessions that contain verdicts. */
export const scorePrefix = "score.";

/** The id of the session that holds the verdicts about a session. */
export function toScoreSessionId(sessionId: string): string {
  return `${scorePrefix}${sha256(sessionId).slice(0, 40)}`;
}

/** Options for deleting a session. */
export type DeleteOptions = {
  /** The current time, in epoch milliseconds. */
  readonly now: number;
  /** Whether to delete the session even if it is held or a run is active. Default: false. */
  readonly force?: boolean;
};

const deleteRules: OptionTable<DeleteOptions> = { now: numberFrom(0), force: aBoolean };

/**
 * Deletes a session as `store.delete` does, and then the session with the verdicts of `createScores` about it, because these quote it.
 *
 * @returns whether the session existed
 * @throws PawlError `session_active` unless `force`, while the session is held or its run is active; nothing is deleted then
 */
export async function deleteSession(store: Store, sessionId: string, options: DeleteOptions): Promise<boolean> {
  checkOptions("deleteSession()", deleteRules, options);
  const isDeleted = await store.delete(sessionId, options);
  // Forced, because a verdict in progress would quote a session that is gone.
  await store.delete(toScoreSessionId(sessionId), { ...options, force: true });
  return isDeleted;
}

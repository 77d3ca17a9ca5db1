/**
 * Deletes a session together with the verdicts about it. If its parent waits for it, the parent gets an error in place of its result.
 */
import { aBoolean, aTime, checkOptions, type OptionTable, required } from "../../check-options.js";
import type { Usage } from "../../core/data/message.js";
import { hasPendingNotice } from "../../core/machine/pending-notice.js";
import { PawlError } from "../../errors.js";
import { sha256 } from "../../platform/hash.js";
import type { Store } from "../../ports/store.js";
import { type AwaitedChild, findAwaitedChild, reportLoss } from "../driver/lost-children.js";
import { findBinding } from "./session-beginning.js";

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
  /** Whether to delete the session even if it is held, a run is active or its parent waits for its result. Default: false. */
  readonly force?: boolean;
};

const deleteRules: OptionTable<DeleteOptions> = { now: required(aTime), force: aBoolean };

/**
 * Deletes a session as `store.delete` does, and then the session with the verdicts of `createScores` about it, because these quote it.
 *
 * If it is a child session whose parent waits for its result, the parent's call ends with an error that says so, in any process.
 * `store.delete` alone does not notify the parent, which then finds out only when it is resumed or waited for.
 *
 * Sessions that its calls have started are not deleted: `store.list({ parent: sessionId })` lists them.
 *
 * @returns whether the session existed
 * @throws PawlError `session_active` unless `force`, while the session is held, its run is active, or its parent has yet to get its result;
 * nothing is deleted then
 */
export async function deleteSession(store: Store, sessionId: string, options: DeleteOptions): Promise<boolean> {
  checkOptions("deleteSession()", deleteRules, options);
  const isDeleted = await deleteAndReport(store, sessionId, options);
  // Forced, because a verdict in progress would quote a session that is gone.
  await store.delete(toScoreSessionId(sessionId), { ...options, force: true });
  return isDeleted;
}

/** Deletes a session without its verdicts. @throws PawlError `session_active` */
export async function deleteAndReport(store: Store, sessionId: string, options: DeleteOptions): Promise<boolean> {
  const awaited = await findAwaited(store, sessionId);
  if (awaited !== null && options.force !== true) await refuseIfOwed(store, awaited);
  // Before the session is deleted: if the process died in between, the parent would wait forever.
  else if (awaited !== null) await reportLoss(awaited, await loadUsage(store, sessionId), store, options.now);
  return store.delete(sessionId, options);
}

async function loadUsage(store: Store, sessionId: string): Promise<Usage> {
  const state = (await store.load(sessionId))?.state;
  return state === undefined || state.status === "idle" ? {} : state.usage;
}

async function refuseIfOwed(store: Store, { child: { childId }, parentId }: AwaitedChild): Promise<void> {
  const state = (await store.load(childId))?.state;
  if (state === undefined || hasPendingNotice(state))
    throw new PawlError(
      "session_active",
      `Session ${childId} was not deleted: its parent, session ${parentId}, has yet to get its result. Resume the parent first, or delete the session with \`force\`.`,
    );
}

const unreadable: ReadonlySet<string> = new Set(["store_corrupt", "newer_format", "older_format"]);

/** Null if no session waits for this one. */
async function findAwaited(store: Store, sessionId: string): Promise<AwaitedChild | null> {
  try {
    const parent = (await findBinding(store, sessionId))?.parent;
    return parent === undefined ? null : await findAwaitedChild(store, sessionId, parent);
  } catch (error) {
    // A session that cannot be read can be deleted. If its parent waits for it, the parent finds out when it is resumed.
    if (error instanceof PawlError && unreadable.has(error.code)) return null;
    throw error;
  }
}

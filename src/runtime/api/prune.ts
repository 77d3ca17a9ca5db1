/**
 * Deletes sessions by age.
 */
import { aTime, checkOptions, type OptionTable, required } from "../../check-options.js";
import { PawlError } from "../../errors.js";
import type { SessionSummary, Store } from "../../ports/store.js";
import { deleteAndReport } from "./delete-session.js";

/** The outcome of pruning. */
export type PruneResult = {
  /** The sessions that were deleted. */
  readonly deleted: readonly string[];
  /**
   * Old sessions that were kept, because they are held or active, have unread or delayed messages, or owe their parent a result. Sessions that
   * were used while others were deleted are also listed.
   */
  readonly kept: readonly string[];
};

/** Options for pruning. */
export type PruneOptions = {
  /** Sessions whose last change is before this time are deleted, in epoch milliseconds. */
  readonly before: number;
  /** The current time, in epoch milliseconds. */
  readonly now: number;
};

const pruneRules: OptionTable<PruneOptions> = { before: required(aTime), now: required(aTime) };

const pageSize = 100;

/**
 * Deletes the sessions whose last commit is before `before` (epoch milliseconds), except those that are held, active, have a message in
 * the inbox or a delayed message, and child sessions whose parent has yet to get their result.
 * @throws PawlError `bad_configuration` if `before` or `now` is missing or not a time
 */
export async function pruneSessions(store: Store, options: PruneOptions): Promise<PruneResult> {
  checkOptions<PruneOptions>("pruneSessions()", pruneRules, options);
  const deleted: string[] = [];
  const kept: string[] = [];
  // An empty id sorts before all others, so the list begins with the sessions of exactly this time. The loop skips these.
  let after = { updatedAt: options.before, sessionId: "" };
  for (;;) {
    const page = await store.list({ after, limit: pageSize });
    for (const session of page) {
      if (session.updatedAt >= options.before) continue;
      const isDeleted = await tryDelete(store, session, options);
      (isDeleted ? deleted : kept).push(session.sessionId);
    }
    const last = page.at(-1);
    if (last === undefined || page.length < pageSize) return { deleted, kept };
    after = { updatedAt: last.updatedAt, sessionId: last.sessionId };
  }
}

async function tryDelete(store: Store, listed: SessionSummary, { before, now }: PruneOptions): Promise<boolean> {
  const { sessionId, info } = listed;
  // Deleting the sessions before it on the page may have taken a while, and a message to it may have come meanwhile.
  const session = listed.inbox > 0 ? listed : await store.describe(sessionId);
  if (session === null) return true;
  if (session.inbox > 0 || session.updatedAt >= before) return false;
  const delayed = await store.schedules?.list({ sessionId, limit: 1 });
  if (delayed !== undefined && delayed.length > 0) return false;
  try {
    const isChild = info?.parent !== undefined;
    await (isChild ? deleteAndReport(store, sessionId, { now }) : store.delete(sessionId, { now }));
    return true;
  } catch (error) {
    if (error instanceof PawlError && error.code === "session_active") return false;
    throw error;
  }
}

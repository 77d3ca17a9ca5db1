/**
 * The unfinished runs of a session: the current one, those in the queue, and those whose requests are in the
 * inbox.
 */
import type { InboxMessage } from "../../core/machine/inbox.js";
import { isCompacting } from "../../core/machine/requested-compaction.js";
import { initialState, isResting, type State } from "../../core/machine/state.js";
import type { Store } from "../../ports/store.js";

type RunStore = Pick<Store, "load" | "inbox">;

/**
 * The given run or, without an id, the current run, if it has not ended; otherwise null. The request of a run may still be in the inbox.
 * @param state the session's state, as far as the caller knows it
 */
export async function findOpenRunId(
  store: RunStore,
  sessionId: string,
  state: State,
  runId?: string,
): Promise<string | null> {
  const known = findRunInState(state, runId);
  if (known !== null) return known;
  const posted = await store.inbox(sessionId);
  for (const { body } of posted)
    if (body.type === "input" && (runId === undefined || body.runId === runId)) return body.runId;
  // A driver may have consumed the request in between.
  return findRunInState((await store.load(sessionId))?.state ?? initialState, runId);
}

/** The ids of all unfinished runs. @param posted the inbox, read before the state: a commit removes messages from it */
export function listOpenRunIds(state: State, posted: readonly InboxMessage[]): readonly string[] {
  const current = isResting(state) ? [] : [state.runId];
  const queued = state.queue.flatMap((one) => (one.kind === "run" ? [one.runId] : []));
  const requested = posted.flatMap(({ body }) => (body.type === "input" ? [body.runId] : []));
  return [...new Set([...current, ...queued, ...requested])];
}

function findRunInState(state: State, runId: string | undefined): string | null {
  // The compaction of a session at rest has the id of the last run.
  if (runId === undefined && isCompacting(state)) return state.runId;
  const currentRunId = isResting(state) ? null : state.runId;
  if (runId === undefined || currentRunId === runId) return currentRunId;
  return state.queue.some((queued) => queued.kind === "run" && queued.runId === runId) ? runId : null;
}

/**
 * The result of a run whose id was used before. The run may be over, or the id may not belong to a run: then this refuses
 * it, so that the caller does not wait forever.
 */

import { initialState } from "../../core/machine/state.js";
import type { RunResult } from "../../core/view/outcome.js";
import { PawlError } from "../../errors.js";
import type { Store } from "../../ports/store.js";
import { pushKnownEnd, type Tail } from "../../stream/tail/tail.js";
import { loadExistingState } from "../log/known-session.js";
import { findFinalEvent } from "../log/read-log.js";
import { addWaiter, type HasWaiters, removeWaiter, unwrapOutcome } from "../subscribers/waiters.js";

/**
 * The result of a run whose message is already in the store. If the run is over, the subscription also gets its `final`.
 * @param settle consumes the messages in the inbox, settles waiters, and releases an idle session
 * @throws PawlError `bad_input` if the id does not belong to a run, `no_session` if the session was deleted
 */
export async function awaitKnownResult(
  session: HasWaiters & { readonly agent: { readonly store: Store } },
  runId: string,
  subscription: Tail | undefined,
  settle: () => Promise<void>,
): Promise<RunResult> {
  const { sessionId, agent } = session;
  for (;;) {
    const ended = await findFinalEvent(agent.store, sessionId, runId);
    if (ended !== null) {
      if (subscription !== undefined) pushKnownEnd(subscription, ended);
      return ended.result;
    }
    await refuseUnrequested(agent.store, sessionId, runId);
    const waiter = addWaiter(session, { runId });
    try {
      await settle();
      const result = unwrapOutcome(await waiter.outcome);
      if (result !== undefined) return result;
    } finally {
      removeWaiter(session, waiter);
    }
  }
}

/** Whether the store has the request of a run that has not ended. */
export async function isRequested(store: Store, sessionId: string, runId: string): Promise<boolean> {
  const posted = await store.inbox(sessionId);
  const state = (await store.load(sessionId))?.state ?? initialState;
  const isCurrent = state.status !== "idle" && state.runId === runId;
  const isQueued = state.queue.some((queued) => queued.kind === "run" && queued.runId === runId);
  return isCurrent || isQueued || posted.some((message) => message.id === `run/${runId}`);
}

/** Refuses an id that was used for a message that joined another run. @throws PawlError `bad_input`; `no_session` if it was deleted */
async function refuseUnrequested(store: Store, sessionId: string, runId: string): Promise<void> {
  if (await isRequested(store, sessionId, runId)) return;
  await loadExistingState(store, sessionId);
  if ((await findFinalEvent(store, sessionId, runId)) === null)
    throw new PawlError(
      "bad_input",
      `The id ${runId} was used in session ${sessionId} for a message that joined another run. Give this run another id.`,
    );
}

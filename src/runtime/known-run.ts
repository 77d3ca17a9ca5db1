/**
 * The result of a run whose message is in the store already: it may be over, under way, queued, or no run at all.
 */
import type { RunResult } from "../core/outcome.js";
import { initialState } from "../core/state.js";
import { PawlError } from "../errors.js";
import type { Store } from "../ports/store.js";
import { findEnd } from "./history.js";
import type { Subscription } from "./subscription.js";

export type KnownRun = {
  readonly store: Store;
  readonly sessionId: string;
  readonly runId: string;
  /** Gets the end of a run that is over. */
  readonly subscription: Subscription | undefined;
  /** Waits until the run ends; undefined where the session has nothing left to do and says nothing of the run. */
  readonly wait: () => Promise<RunResult | undefined>;
};

/** @throws PawlError `bad_input` where it is no run */
export async function resultOfKnown({ store, sessionId, runId, subscription, wait }: KnownRun): Promise<RunResult> {
  for (;;) {
    const ended = await findEnd(store, sessionId, runId);
    if (ended !== null) {
      subscription?.push(ended);
      return ended.result;
    }
    await refuseUnasked(store, sessionId, runId);
    const result = await wait();
    if (result !== undefined) return result;
  }
}

/** An id that was taken, and stands for no run: it went to a message that joined another. @throws PawlError `bad_input` */
async function refuseUnasked(store: Store, sessionId: string, runId: string): Promise<void> {
  const posted = await store.inbox(sessionId);
  const state = (await store.load(sessionId))?.state ?? initialState;
  const isPresent = state.status !== "idle" && state.runId === runId;
  const isQueued = state.queue.some((one) => one.kind === "run" && one.runId === runId);
  if (isPresent || isQueued || posted.some((message) => message.id === `run/${runId}`)) return;
  if ((await findEnd(store, sessionId, runId)) === null)
    throw new PawlError(
      "bad_input",
      `The id ${runId} was used in session ${sessionId} for a message that joined another run. Give this run another one.`,
    );
}

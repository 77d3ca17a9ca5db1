/**
 * Waiting for the result of a run in this process.
 *
 * A run may be over before anybody waits for it, and what asked for it may turn out to be no run at all: nobody waits for ever.
 */
import type { RunResult } from "../core/outcome.js";
import { initialState } from "../core/state.js";
import { PawlError } from "../errors.js";
import type { Store } from "../ports/store.js";
import { isOfStore } from "./given-out.js";
import { findEnd } from "./history.js";
import type { Subscription } from "./subscription.js";
import { type Act, type Awaited, storeFailed, type Waiters } from "./waiters.js";

export type ResultsOptions = {
  readonly sessionId: string;
  readonly store: Store;
  readonly waiters: Waiters;
  /** Takes what is in the inbox, gives those who wait what there is, and an idle session back. */
  readonly settleHere: () => Promise<void>;
};

export type Results = {
  /** Waits while something is done about it. A store that gives out is no exception: the run is interrupted. */
  readonly waitFor: (awaited: Awaited, act: Act<RunResult>) => Promise<RunResult>;
  /**
   * The result of a run whose message is in the store already; its end, where it is over, also goes to the subscription.
   * @throws PawlError `bad_input` where it is no run
   */
  readonly known: (runId: string, subscription: Subscription | undefined) => Promise<RunResult>;
};

export function createResults({ sessionId, store, waiters, settleHere }: ResultsOptions): Results {
  return {
    waitFor: (awaited, act) =>
      waiters.during(awaited, act).catch((error) => {
        if (!isOfStore(error)) throw error;
        return storeFailed(sessionId, awaited, error);
      }),
    async known(runId, subscription) {
      for (;;) {
        const ended = await findEnd(store, sessionId, runId);
        if (ended !== null) {
          subscription?.push(ended);
          return ended.result;
        }
        await refuseUnasked(store, sessionId, runId);
        const result = await waiters.during({ runId }, async (later) => {
          await settleHere();
          return await later;
        });
        if (result !== undefined) return result;
      }
    },
  };
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

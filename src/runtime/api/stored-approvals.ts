/**
 * Lists the calls in all sessions of a store that wait for a person or an outside program. This needs no agent and no
 * lease.
 */

import { freeze } from "../../core/data/freeze.js";
import type { Calling } from "../../core/machine/calls.js";
import { advance } from "../../core/machine/consequences.js";
import type { Entry } from "../../core/machine/event.js";
import { eventsOf } from "../../core/machine/inbox.js";
import { hasCalls, type SessionInfo, type State } from "../../core/machine/state.js";
import { type CallRecords, callRecords, recordEntry } from "../../core/transcript/call-records.js";
import { approvalsOf, askedAt, type PendingApproval } from "../../core/view/outcome.js";
import type { AskingSession, Store } from "../../ports/store.js";
import { checkedStore } from "../log/checked-store.js";

/** A waiting call, and its session. */
export type StoredApproval = Omit<PendingApproval, "toolCallId"> & { readonly session: SessionInfo };

/**
 * The calls in all sessions of a store that wait for a person or an outside program. The session that has asked for the
 * longest comes first. The store is read while the calls are consumed.
 *
 * An answered call is left out, even if no driver has taken the answer yet. Sessions that a later version wrote are
 * left out, because this version cannot answer in them.
 *
 * @throws PawlError `store_corrupt`, `store_failed`
 */
export async function* pendingApprovals(store: Store): AsyncGenerator<StoredApproval, void, undefined> {
  const checked = checkedStore(store);
  let after: AskingSession | undefined;
  for (;;) {
    const page: readonly AskingSession[] = await checked.asking({
      limit: pageSize,
      ...(after === undefined ? {} : { after }),
    });
    for (const session of page) yield* await approvalsIn(checked, session);
    after = page.at(-1);
    if (page.length < pageSize) return;
  }
}

const pageSize = 100;

async function approvalsIn(
  store: Store,
  { sessionId, state: loaded, inbox }: AskingSession,
): Promise<readonly StoredApproval[]> {
  if (loaded === null || loaded.session === null || !hasCalls(loaded)) return [];
  const { session } = loaded;
  const state = inbox > 0 ? await stateAfterInbox(store, sessionId, loaded) : loaded;
  if (askedAt(state) === null) return [];
  const calls = await callsOf(store, sessionId, loaded);
  return approvalsOf(sessionId, state, { calls }).map(({ toolCallId: _, ...approval }) =>
    freeze({ ...approval, session }),
  );
}

/** The state after the messages in the inbox: the next driver takes those first. */
async function stateAfterInbox(store: Store, sessionId: string, loaded: Calling): Promise<State> {
  let state: State = loaded;
  const defaults = { limits: loaded.limits, model: loaded.session?.model ?? "" };
  for (const message of await store.inbox(sessionId))
    for (const body of eventsOf(message, state, defaults)) state = advance(state, { ...body, at: message.at }).state;
  return state;
}

/** The calls of the present step, from the last entries of the log. */
async function callsOf(store: Store, sessionId: string, state: Calling): Promise<CallRecords> {
  let first = Math.min(...state.calls.map((call) => call.inputSeq));
  for (;;) {
    const entries = await store.read(sessionId, first - 1, state.seq - first + 1);
    const calls = callsIn(entries, state);
    if (calls !== undefined || first === 1) return calls ?? new Map();
    // The inputs of changed calls come after the model's message, so the message is further back.
    first = Math.max(1, first - 2 * (state.seq - first + 1));
  }
}

function callsIn(entries: readonly Entry[], { runId, modelCallIndex }: Calling): CallRecords | undefined {
  let calls: CallRecords | undefined;
  for (const entry of entries) {
    const { event } = entry;
    if (event.type === "model_finished" && event.runId === runId && event.modelCallIndex === modelCallIndex)
      calls = callRecords(runId, modelCallIndex, event.message);
    else if (calls !== undefined) recordEntry(calls, entry);
  }
  return calls;
}

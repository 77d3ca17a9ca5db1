/**
 * What waits for somebody outside, over all sessions of a store: no agent and no lease is needed to see it.
 */

import type { Calling } from "../../core/machine/calls.js";
import { advance } from "../../core/machine/consequences.js";
import type { Entry } from "../../core/machine/event.js";
import { eventsOf } from "../../core/machine/inbox.js";
import { hasCalls, type SessionInfo, type State } from "../../core/machine/state.js";
import { type CallRecords, callRecords, recordEntry } from "../../core/transcript/call-records.js";
import { approvalsOf, askedAt, type PendingApproval } from "../../core/view/outcome.js";
import type { AskingSession, Store } from "../../ports/store.js";
import { checkedStore } from "../log/checked-store.js";

/** Something that waits in a session, and whose session that is. */
export type StoredApproval = Omit<PendingApproval, "toolCallId"> & { readonly session: SessionInfo };

/**
 * What waits for somebody outside in any session of a store, the session that asks for the longest first. It is read as it is
 * taken: leave the loop when there is enough.
 *
 * A call that was answered is left out, also while nobody has carried its session on. Sessions that a later version wrote
 * are left out: this one can answer nothing in them.
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
  return approvalsOf(sessionId, state, { calls }).map(({ toolCallId: _, ...approval }) => ({ ...approval, session }));
}

/** What is in the inbox counts already: whoever carries the session on takes it first. */
async function stateAfterInbox(store: Store, sessionId: string, loaded: Calling): Promise<State> {
  let state: State = loaded;
  const defaults = { limits: loaded.limits, model: loaded.session?.model ?? "" };
  for (const message of await store.inbox(sessionId))
    for (const body of eventsOf(message, state, defaults)) state = advance(state, { ...body, at: message.at }).state;
  return state;
}

/** The calls of the present step, from the few entries at the end of the log that tell of them. */
async function callsOf(store: Store, sessionId: string, state: Calling): Promise<CallRecords> {
  let first = Math.min(...state.calls.map((call) => call.inputSeq));
  for (;;) {
    const entries = await store.read(sessionId, first - 1, state.seq - first + 1);
    const calls = callsIn(entries, state);
    if (calls !== undefined || first === 1) return calls ?? new Map();
    // Each call that was changed has its present input further on: the message is before them.
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

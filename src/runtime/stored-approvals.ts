/**
 * What waits for somebody outside, over all sessions of a store: no agent and no lease is needed to see it.
 */
import { type CallRecords, callRecords, recordEntry } from "../core/call-records.js";
import type { Calling } from "../core/calls.js";
import { advance } from "../core/consequences.js";
import type { Entry } from "../core/event.js";
import { eventsOf } from "../core/inbox.js";
import { approvalsOf, type PendingApproval } from "../core/outcome.js";
import { asksOutside, hasCalls, type SessionInfo, type State } from "../core/state.js";
import type { SessionSummary, Store } from "../ports/store.js";
import { checkedStore } from "./checked-store.js";

/** Something that waits in a session, and whose session that is. */
export type StoredApproval = Omit<PendingApproval, "toolCallId"> & {
  readonly session: SessionInfo;
  /** When it was asked for; epoch milliseconds. */
  readonly askedAt: number;
};

/**
 * What waits for somebody outside in any session of a store, read as it is asked for: leave the loop when there is enough.
 *
 * A call that was answered is left out, also while nobody has carried its session on. Sessions that a later version wrote
 * are left out: this one can answer nothing in them.
 *
 * @throws PawlError `store_corrupt`, `store_failed`
 */
export async function* pendingApprovals(store: Store): AsyncGenerator<StoredApproval, void, undefined> {
  const checked = checkedStore(store);
  let after: SessionSummary | undefined;
  for (;;) {
    const page: readonly SessionSummary[] = await checked.list({
      status: ["awaiting_human", "tool_running"],
      limit: pageSize,
      ...(after === undefined ? {} : { after }),
    });
    for (const { sessionId, info, inbox } of page)
      if (info !== null) yield* await approvalsIn(checked, sessionId, info, inbox > 0);
    after = page.at(-1);
    if (after === undefined) return;
  }
}

const pageSize = 100;

async function approvalsIn(
  store: Store,
  sessionId: string,
  session: SessionInfo,
  hasMail: boolean,
): Promise<readonly StoredApproval[]> {
  const loaded = await store.load(sessionId);
  if (loaded === null) return [];
  const state = hasMail ? await stateAfterInbox(store, sessionId, loaded.state) : loaded.state;
  if (!hasCalls(loaded.state) || !hasCalls(state) || !state.calls.some(asksOutside)) return [];
  const { calls, entries } = await callsOf(store, sessionId, loaded.state);
  return approvalsOf(sessionId, state, { calls }).map(({ toolCallId: _, ...approval }) => ({
    ...approval,
    session,
    askedAt: askedAt(approval, entries),
  }));
}

/** When the last event of a call was, which led to the question; a question of recovery comes with the restart after it. */
function askedAt({ callKey, why }: Pick<PendingApproval, "callKey" | "why">, entries: readonly Entry[]): number {
  let at = 0;
  let mayAsk = false;
  for (const { event } of entries) {
    const isOwn = "callKey" in event && event.callKey === callKey;
    const isRestart: boolean = event.type === "restarted" && why === "recovery" && mayAsk;
    if (isOwn || isRestart) at = event.at;
    mayAsk = isOwn || (mayAsk && !isRestart);
  }
  return at;
}

/** What is in the inbox counts already: whoever carries the session on takes it first. */
async function stateAfterInbox(store: Store, sessionId: string, loaded: State): Promise<State> {
  let state = loaded;
  for (const message of await store.inbox(sessionId))
    for (const body of eventsOf(message, state)) state = advance(state, { ...body, at: message.at }).state;
  return state;
}

type Told = { readonly calls: CallRecords; readonly entries: readonly Entry[] };

/** The calls of the present step, from the few entries at the end of the log that tell of them. */
async function callsOf(store: Store, sessionId: string, state: Calling): Promise<Told> {
  let first = Math.min(...state.calls.map((call) => call.inputSeq));
  for (;;) {
    const entries = await store.read(sessionId, first - 1, state.seq - first + 1);
    const calls = callsIn(entries, state);
    if (calls !== undefined || first === 1) return { calls: calls ?? new Map(), entries };
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

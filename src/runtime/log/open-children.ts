/**
 * The child sessions that a session waits for at a position of its log.
 */

import { findChildCalls } from "../../core/machine/child-reports.js";
import { initialState, type State } from "../../core/machine/state.js";
import { transition } from "../../core/machine/transition.js";
import type { Cursor } from "../../stream/cursor.js";
import { type LogStore, readEntries } from "./read-entries.js";

/** The state after an entry, or after the last one. */
export async function loadStateAt(store: LogStore, sessionId: string, seq: number): Promise<State> {
  let state: State = (await store.loadAt(sessionId, seq))?.state ?? initialState;
  for await (const { event } of readEntries(store, sessionId, state.seq, seq)) state = transition(state, event);
  return state;
}

/** The calls that wait for a child. An entry's first event says whether a call begins or stops waiting. */
export async function findOpenChildCalls(
  store: LogStore,
  sessionId: string,
  { seq, index }: Cursor,
): Promise<ReturnType<typeof findChildCalls>> {
  const last = index >= 1 ? seq : seq - 1;
  return last <= 0 ? [] : findChildCalls(await loadStateAt(store, sessionId, last));
}

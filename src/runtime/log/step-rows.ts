/**
 * Finds the steps of a run in the log.
 */
import { initialState, isResting, type RunState, type State } from "../../core/machine/state.js";
import { type LogStore, readEntries } from "./read-entries.js";

type RunBounds = { readonly runId: string; readonly startSeq: number };

/**
 * The last row before a step of a run, or the entry before the run. A binary search, because the number of the step only
 * increases: it reads few rows, however long the run is.
 * @param last an entry of the run that is not before the step
 */
export async function findRowBeforeStep(
  store: LogStore,
  sessionId: string,
  { runId, startSeq }: RunBounds,
  modelCallIndex: number,
  last: number,
): Promise<number> {
  let found = startSeq - 1;
  let low = startSeq;
  for (let high = last; low <= high; ) {
    const middle = Math.floor((low + high) / 2);
    const row = await store.loadAt(sessionId, middle);
    const isBefore = row === null || !belongsToRun(row.state, runId) || row.state.modelCallIndex < modelCallIndex;
    if (row !== null && isBefore && belongsToRun(row.state, runId)) found = Math.max(found, row.seq);
    if (isBefore) low = middle + 1;
    else high = middle - 1;
  }
  return found;
}

function belongsToRun(state: State, runId: string): state is Exclude<State, { readonly status: "idle" }> {
  return state.status !== "idle" && state.runId === runId;
}

/** The first and the last entry of a run; null if the log has no such run. Fast for the last run. */
export async function findRun(
  store: LogStore,
  sessionId: string,
  runId: string,
): Promise<(RunBounds & { readonly last: number }) | null> {
  const state = (await store.load(sessionId))?.state ?? initialState;
  if (belongsToRun(state, runId)) return { runId, startSeq: state.startSeq, last: state.seq };
  let startSeq: number | null = null;
  for await (const { seq, event } of readEntries(store, sessionId, 0, state.seq)) {
    if (event.type !== "run_started") continue;
    if (startSeq !== null) return { runId, startSeq, last: seq - 1 };
    if (event.runId === runId) startSeq = seq;
  }
  return startSeq === null ? null : { runId, startSeq, last: state.seq };
}

/** The state of the run in progress at an entry, from its row; null if there is none. */
export async function loadRunAt(store: LogStore, sessionId: string, seq: number): Promise<(RunState & State) | null> {
  const state = seq <= 0 ? null : ((await store.loadAt(sessionId, seq))?.state ?? null);
  return state === null || isResting(state) ? null : state;
}

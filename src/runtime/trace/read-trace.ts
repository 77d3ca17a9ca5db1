/**
 * Reads the trace of a session from any entry of its log on.
 *
 * 1. The records of steps need the log from the previous step on. Therefore the cost of a page does not depend on its position.
 * 2. The record of a run's end needs all of the run: a caller that needs it reads the run from its start.
 */
import { initialState, isResting } from "../../core/machine/state.js";
import type { PublicEvent } from "../../core/view/public-event.js";
import type { TraceRecord, TraceRecordOf } from "../../ports/trace.js";
import type { LogStore } from "../log/read-entries.js";
import { readCommittedEntries } from "../log/read-log.js";
import { findRowBeforeStep, loadRunAt } from "../log/step-rows.js";
import { createTraceBuilder, type TraceBuilderOptions } from "./trace-builder.js";

/** The records that an entry completed, and the entries that prepared the steps among them. */
export type TracedEntry = {
  readonly seq: number;
  /** The public events of the entry. */
  readonly events: readonly PublicEvent[];
  readonly records: readonly TraceRecord[];
  readonly preparedAt: (step: TraceRecordOf<"step">) => number;
  readonly underWay: (now: number) => TraceRecordOf<"step"> | null;
};

/** The entries after the start, each with the records that it completed. */
export async function* readTrace(
  store: LogStore,
  from: TraceStart,
  options: TraceBuilderOptions,
): AsyncGenerator<TracedEntry, void, undefined> {
  const { sessionId } = options;
  const builder = createTraceBuilder(options, from.run);
  const prepared = new Map<string, number>();
  const preparedAt = ({ runId, modelCallIndex }: TraceRecordOf<"step">) =>
    prepared.get(`${runId}/${modelCallIndex}`) ?? 0;
  for await (const committed of readCommittedEntries(store, sessionId, from.seq)) {
    const { seq, event } = committed.entry;
    const records = builder.add(committed);
    yield { seq, events: committed.events, records, preparedAt, underWay: builder.underWay };
    for (const record of records)
      if (record.type === "step") prepared.delete(`${record.runId}/${record.modelCallIndex}`);
    if (event.type !== "prepared") continue;
    const key = `${event.runId}/${event.modelCallIndex}`;
    if (!prepared.has(key)) prepared.set(key, seq);
  }
}

export type TraceStart = {
  readonly seq: number;
  /** The run that was in progress. */
  readonly run: { readonly runId: string; readonly startedAt: number } | null;
};

/** The entry before the run to which an entry belongs. */
export async function findRunStart(store: LogStore, sessionId: string, seq: number): Promise<TraceStart> {
  const state = seq <= 0 ? initialState : ((await store.loadAt(sessionId, seq))?.state ?? initialState);
  return { seq: isResting(state) ? state.seq : state.startSeq - 1, run: null };
}

/** How many steps earlier to start: the record of a step is compared with the previous step. */
const stepsBack = 2;

/** A row from which the records of the steps that end after an entry can be built. */
export async function findStepStart(store: LogStore, sessionId: string, seq: number): Promise<TraceStart> {
  const state = await loadRunAt(store, sessionId, seq);
  if (state === null || state.modelCallIndex <= stepsBack) return findRunStart(store, sessionId, seq);
  const { runId, startedAt } = state;
  const before = await findRowBeforeStep(store, sessionId, state, state.modelCallIndex - stepsBack, state.seq);
  return before < state.startSeq ? { seq: before, run: null } : { seq: before, run: { runId, startedAt } };
}

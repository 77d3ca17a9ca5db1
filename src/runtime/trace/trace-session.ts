/**
 * The trace of a session, read from its log.
 */
import { isResting } from "../../core/machine/state.js";
import type { LoopTrace, TraceRecord } from "../../ports/trace.js";
import type { LogStore } from "../log/read-entries.js";
import { readCommittedEntries } from "../log/read-log.js";
import { createRedaction, guarded, type Redact } from "../observers/redact.js";
import { createTraceBuilder } from "./builder.js";

export type TraceOptions = {
  /** Redacts all texts. Default: removes keys of known shapes. */
  readonly redact?: Redact;
  /** If true, the records contain the texts of models, and the inputs and outputs of tools. Default: false. */
  readonly content?: boolean;
  /** Epoch milliseconds. If given, the trace ends with the unfinished step as of this time, marked `underWay`. */
  readonly asOf?: number;
  /** Gives only records that were completed after this entry of the log. Default: 0, which gives all. */
  readonly after?: number;
  /** The most records. Default: no limit. */
  readonly limit?: number;
};

/**
 * The trace of a session, from its log: the traces of its runs, one after another. Empty if there is no such session.
 * @throws PawlError `store_corrupt`; also what the store throws
 */
export async function traceSession(
  store: LogStore,
  sessionId: string,
  { redact = createRedaction(), content = false, asOf, after = 0, limit = Number.POSITIVE_INFINITY }: TraceOptions = {},
): Promise<LoopTrace> {
  const builder = createTraceBuilder({ sessionId, redact: guarded(redact), content });
  const records: TraceRecord[] = [];
  for await (const committed of readCommittedEntries(store, sessionId, await startOfRun(store, sessionId, after))) {
    const completed = builder.add(committed);
    if (committed.entry.seq > after) records.push(...completed);
    if (records.length >= limit) return records.slice(0, limit);
  }
  const open = asOf === undefined ? null : builder.underWay(asOf);
  return open === null ? records : [...records, open];
}

/** The entry before the run to which an entry belongs. */
async function startOfRun(store: LogStore, sessionId: string, seq: number): Promise<number> {
  const state = seq <= 0 ? null : ((await store.loadAt(sessionId, seq))?.state ?? null);
  if (state === null) return 0;
  return state.status === "idle" || isResting(state) ? state.seq : state.startSeq - 1;
}

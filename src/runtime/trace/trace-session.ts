/**
 * The trace of a session, read from its log.
 */
import { isResting } from "../../core/machine/state.js";
import type { LoopTrace, TraceRecord } from "../../ports/trace.js";
import { type LogStore, readCommittedEntries } from "../log/read-log.js";
import { createRedaction, guarded, type Redact } from "../observers/redact.js";
import { createTraceBuilder } from "./builder.js";

export type TraceOptions = {
  /** What texts go through; keys of known shapes are taken out unless given. */
  readonly redact?: Redact;
  /** What models said, and what tools were given and gave, is in the records. Default false. */
  readonly content?: boolean;
  /** Epoch milliseconds. The step that is under way is in it as well, as it stands then, marked `underWay`. Left out unless given. */
  readonly asOf?: number;
  /** Only what comes after this entry of the log; reading begins with the run that the entry belongs to. 0 unless given: all. */
  readonly after?: number;
  /** At most this many records; not limited unless given. */
  readonly limit?: number;
};

/**
 * The trace of a session, from its log: that of each of its runs, one after another; empty where there is no such session.
 * @throws PawlError `store_corrupt`, and what the store throws
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

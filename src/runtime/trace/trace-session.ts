/**
 * The trace of a session, read from its log.
 */
import type { Store } from "../../ports/store.js";
import type { LoopTrace, TraceRecord } from "../../ports/trace.js";
import { readCommittedEntries } from "../log/read-log.js";
import { createRedaction, guarded, type Redact } from "../observers/redact.js";
import { createTraceBuilder } from "./builder.js";

export type TraceOptions = {
  /** What texts go through; keys of known shapes are taken out unless given. */
  readonly redact?: Redact;
  /** What models said, and what tools were given and gave, is in the records. Default false. */
  readonly content?: boolean;
  /** Epoch milliseconds. The step that is under way is in it as well, as it stands then, marked `underWay`. Left out unless given. */
  readonly asOf?: number;
};

/**
 * The trace of a session, from its log: that of each of its runs, one after another; empty where there is no such session.
 * @throws PawlError `store_corrupt`, and what the store throws
 */
export async function traceSession(
  store: Pick<Store, "read">,
  sessionId: string,
  { redact = createRedaction(), content = false, asOf }: TraceOptions = {},
): Promise<LoopTrace> {
  const builder = createTraceBuilder({ sessionId, redact: guarded(redact), content });
  const records: TraceRecord[] = [];
  for await (const step of readCommittedEntries(store, sessionId)) records.push(...builder.add(step));
  const open = asOf === undefined ? null : builder.underWay(asOf);
  return open === null ? records : [...records, open];
}

/**
 * The observer port: code that watches, and can change nothing.
 */
import type { PublicEvent } from "../core/view/public-event.js";
import type { MessageDelta } from "./model.js";
import type { LoopTrace, TraceRecord } from "./trace.js";

/** Receives every committed event, every delta, and the trace. */
export type Observer = {
  readonly name?: string;
  readonly onEvent?: (event: PublicEvent) => unknown;
  readonly onDelta?: (delta: MessageDelta, sessionId: string) => unknown;
  /**
   * A record of the trace, when what it tells of is over; `run` has the records of its run so far, this one included, from the lives of
   * the run in other processes too.
   */
  readonly onTrace?: (record: TraceRecord, run: LoopTrace) => unknown;
  /** Its trace records carry what models said, and what tools were given and gave, redacted. Default false. */
  readonly traceContent?: boolean;
};

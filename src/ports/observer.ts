/**
 * The observer port: code that watches a run, and cannot change it.
 */
import type { PublicEvent } from "../core/view/public-event.js";
import type { MessageDelta } from "./model.js";
import type { LoopTrace, TraceRecord } from "./trace.js";

/** Receives every committed event, every delta, and the trace. */
export type Observer = {
  /** Its name in messages about its failures. */
  readonly name?: string;
  /** Called with each public event, after its commit. */
  readonly onEvent?: (event: PublicEvent) => unknown;
  /** Called with each delta of this process. */
  readonly onDelta?: (delta: MessageDelta, sessionId: string) => unknown;
  /**
   * Called with a trace record when the step, compaction or run it describes is over. `run` has all records of the run
   * so far, including this record and those of other processes.
   */
  readonly onTrace?: (record: TraceRecord, run: LoopTrace) => unknown;
  /** If true, trace records include texts of models, and inputs and outputs of tools, redacted. Default: false. */
  readonly traceContent?: boolean;
};

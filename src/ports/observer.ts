/**
 * The observer port: code that watches a run but cannot change it.
 */
import type { Usage } from "../core/data/message.js";
import type { Timing } from "../core/machine/event.js";
import type { PublicEvent } from "../core/view/public-event.js";
import type { MessageDelta } from "./model.js";
import type { LoopTrace, TraceRecord } from "./trace.js";

/** The session and the work that an event belongs to. */
export type EventContext = {
  /** The agent that has the session after the event. */
  readonly agent: string;
  /** When the current or last run began, in epoch milliseconds. Absent before the first run. */
  readonly runStartedAt?: number;
  /**
   * The usage of the event's own model call: one attempt, or a compaction. Absent for other events, and if it is unknown. The sum over a
   * session excludes its child sessions.
   */
  readonly usage?: Usage;
  /** When the event's attempt or tool call ran, and for how long. Absent for other events. */
  readonly timing?: Timing;
};

/** Receives every committed event, every delta, and the trace. */
export type Observer = {
  /** The name used in messages about the observer's failures. */
  readonly name?: string;
  /** Called with each public event, after its commit. */
  readonly onEvent?: (event: PublicEvent, context: EventContext) => unknown;
  /** Called with each delta that this process streams. */
  readonly onDelta?: (delta: MessageDelta, sessionId: string) => unknown;
  /**
   * Called with a trace record when the step, compaction or run that it describes is over. `run` has all records of the run so far,
   * including this one and those of other processes.
   */
  readonly onTrace?: (record: TraceRecord, run: LoopTrace) => unknown;
  /**
   * Returns the span that is active where a run is requested, as a W3C `traceparent`; undefined if there is none. The run joins that trace.
   * The first observer that returns a value is used.
   */
  readonly traceparent?: () => string | undefined;
  /** If true, trace records include model texts and the inputs and outputs of tools, redacted. Default: false. */
  readonly traceContent?: boolean;
  /**
   * If true, the observer also observes the agents that the agent's tools run (`asTool`), at any depth. An agent that also lists this
   * observer is still observed only once. Default: false.
   */
  readonly children?: boolean;
};

/**
 * The steps of a session in short form, for lists of thousands.
 */
import { anArray, checkOptions, integerFrom, numberFrom, type OptionTable } from "../../check-options.js";
import { deepFreeze } from "../../core/data/freeze.js";
import type { Usage } from "../../core/data/message.js";
import { addUsage } from "../../core/data/usage.js";
import type { CallOutcome, Purpose, Status } from "../../core/machine/state.js";
import type { PublicEvent, PublicEventType } from "../../core/view/public-event.js";
import type { TracedCall, TraceRecordOf } from "../../ports/trace.js";
import { checkSessionId } from "../agent/check-run-options.js";
import type { LogStore } from "../log/read-entries.js";
import { findStepStart, readTrace, type TracedEntry } from "./read-trace.js";

/** A summary of one step of a session. */
export type SessionStep = {
  /** The entry that prepared the step's model call. */
  readonly seq: number;
  readonly runId: string;
  readonly modelCallIndex: number;
  readonly purpose: Purpose;
  /** In epoch milliseconds. */
  readonly startedAt: number;
  readonly durationMs: number;
  /** How long the model was running, with the delays between its attempts. */
  readonly modelMs: number;
  /** How long the session waited for a person or an outside result while nothing ran. */
  readonly waitingMs: number;
  /** The attempts of the model call so far. */
  readonly attempts: number;
  /** The usage of all attempts. */
  readonly usage: Usage;
  /** `under_way`: the step has not ended. `retried`: an attempt failed. `failed`: all attempts failed. `waits`: a call is waiting now. */
  readonly flags: readonly ("under_way" | "retried" | "failed" | "waits")[];
  /** Its tool calls. */
  readonly calls: readonly SessionStepCall[];
};

/** A summary of one tool call. */
export type SessionStepCall = {
  readonly callKey: string;
  readonly name: string;
  /** Null if the call has not ended. */
  readonly outcome: CallOutcome | null;
  /** How long the call ran. Null if it has not run. */
  readonly durationMs: number | null;
};

/** Which steps to return. */
export type StepsOptions = {
  /** Only steps that ended after this entry: `next` of the previous page. Default: 0, the start. */
  readonly after?: number;
  /** The maximum number of steps. Default: 100. */
  readonly limit?: number;
  /** In epoch milliseconds. If given, the last page ends with the unfinished step as of this time. */
  readonly asOf?: number;
  /** The types of public events to return with the steps, for example `compacted`. Default: none. */
  readonly events?: readonly PublicEventType[];
};

/** A page of steps. */
export type StepsPage = {
  /** The steps, in order. */
  readonly steps: readonly SessionStep[];
  /** The events of the requested types after `after`, up to `next` or the end of the log. */
  readonly events: readonly PublicEvent[];
  /** Where the next page begins; null if this is the last one. */
  readonly next: number | null;
};

const stepRules: OptionTable<StepsOptions> = {
  after: numberFrom(0),
  limit: integerFrom(1),
  asOf: numberFrom(0),
  events: anArray,
};

/**
 * A page of the steps of a session, in the order of the log. The cost does not depend on the position of the page. Empty if the session
 * does not exist.
 * @throws PawlError `bad_input`, `store_corrupt`; also what the store throws
 */
export async function sessionSteps(store: LogStore, sessionId: string, options: StepsOptions = {}): Promise<StepsPage> {
  checkOptions("sessionSteps()", stepRules, options, { code: "bad_input" });
  checkSessionId(sessionId);
  const { after = 0, limit = 100, asOf } = options;
  const wanted: ReadonlySet<PublicEventType> = new Set(options.events);
  const from = await findStepStart(store, sessionId, after);
  const steps: SessionStep[] = [];
  const events: PublicEvent[] = [];
  let last: TracedEntry | null = null;
  for await (const traced of readTrace(store, from, { sessionId, redact: (text) => text, content: false })) {
    last = traced;
    if (traced.seq <= after) continue;
    for (const event of traced.events) if (wanted.has(event.type)) events.push(event);
    for (const record of traced.records) if (record.type === "step") steps.push(toSessionStep(record, traced));
    if (steps.length >= limit) return deepFreeze({ steps, events, next: traced.seq });
  }
  const open = asOf === undefined ? null : (last?.underWay(asOf) ?? null);
  if (open !== null && last !== null) steps.push(toSessionStep(open, last));
  return deepFreeze({ steps, events, next: null });
}

type StepRecord = TraceRecordOf<"step">;

function toSessionStep(step: StepRecord, { preparedAt }: TracedEntry): SessionStep {
  const { runId, modelCallIndex, purpose, startedAt, durationMs, attempts, calls, underWay } = step;
  const failures = attempts.filter(({ failure }) => failure !== undefined).length;
  const waits = calls.some(({ outcome, waits: all }) => outcome === undefined && all.length > 0);
  const flags: SessionStep["flags"][number][] = [
    ...(underWay === true ? (["under_way"] as const) : []),
    ...(failures > 0 ? (["retried"] as const) : []),
    ...(failures > 0 && failures === attempts.length && underWay !== true ? (["failed"] as const) : []),
    ...(underWay === true && waits ? (["waits"] as const) : []),
  ];
  const times = sumStateTimes(step);
  const usage = attempts.map((attempt) => attempt.usage ?? {}).reduce(addUsage, {});
  return {
    seq: preparedAt(step),
    runId,
    modelCallIndex,
    purpose,
    startedAt,
    durationMs,
    modelMs: times.model_running ?? 0,
    waitingMs: times.awaiting_human ?? 0,
    attempts: attempts.length,
    usage,
    flags,
    calls: calls.map(toStepCall),
  };
}

/** How long the session was in each state. */
function sumStateTimes({ startedAt, durationMs, states }: StepRecord): { readonly [status in Status]?: number } {
  const times: { [status in Status]?: number } = {};
  const end = startedAt + durationMs;
  for (const [index, { at, to }] of states.entries()) {
    const until = Math.min(end, states[index + 1]?.at ?? end);
    times[to] = (times[to] ?? 0) + Math.max(0, until - Math.max(at, startedAt));
  }
  return times;
}

function toStepCall({ callKey, name, outcome, ran }: TracedCall): SessionStepCall {
  return { callKey, name, outcome: outcome ?? null, durationMs: ran?.durationMs ?? null };
}

/**
 * The steps of a session, one short row each: for lists of thousands.
 */
import { checkOptions, numberFrom, type OptionTable, wholeNumber } from "../../check-options.js";
import { freeze } from "../../core/data/freeze.js";
import { problemOfId, refusedId } from "../../core/data/ids.js";
import { addUsage, type Usage } from "../../core/data/message.js";
import type { CallOutcome, Purpose } from "../../core/machine/state.js";
import { PawlError } from "../../errors.js";
import type { TracedCall, TraceRecordOf } from "../../ports/trace.js";
import type { LogStore } from "../log/read-entries.js";
import { readTrace, startOfStep } from "./trace-pages.js";

export type SessionStep = {
  /** The entry that prepared the step's model call. */
  readonly seq: number;
  readonly runId: string;
  readonly modelCallIndex: number;
  readonly purpose: Purpose;
  /** Epoch milliseconds. */
  readonly startedAt: number;
  readonly durationMs: number;
  /** The attempts of the model call so far. */
  readonly attempts: number;
  /** What all attempts used. */
  readonly usage: Usage;
  /** `under_way`: the step is not over. `retried`: an attempt failed. `failed`: so did the last one. `waits`: a call waits now. */
  readonly flags: readonly ("under_way" | "retried" | "failed" | "waits")[];
  readonly calls: readonly SessionStepCall[];
};

export type SessionStepCall = {
  readonly callKey: string;
  readonly name: string;
  /** Null if the call has not ended. */
  readonly outcome: CallOutcome | null;
  /** How long it ran. Null if it has not run. */
  readonly durationMs: number | null;
};

export type StepsOptions = {
  /** Gives only steps that ended after this entry: `next` of the page before. Default: 0, the start. */
  readonly after?: number;
  /** The most steps. Default: 100. */
  readonly limit?: number;
  /** Epoch milliseconds. If given, the last page ends with the step under way, as of this time. */
  readonly asOf?: number;
};

export type StepsPage = {
  readonly steps: readonly SessionStep[];
  /** Where the next page begins; null if this is the last one. */
  readonly next: number | null;
};

const stepRules: OptionTable<StepsOptions> = { after: numberFrom(0), limit: wholeNumber(1), asOf: numberFrom(0) };

/**
 * A page of the steps of a session, in the order of the log. It costs the same wherever it is. Empty if there is no such
 * session.
 * @throws PawlError `bad_input`, `store_corrupt`; also what the store throws
 */
export async function sessionSteps(store: LogStore, sessionId: string, options: StepsOptions = {}): Promise<StepsPage> {
  checkOptions("sessionSteps()", stepRules, options, { code: "bad_input" });
  const problem = problemOfId(sessionId);
  if (problem !== null) throw new PawlError("bad_input", refusedId("session", sessionId, problem));
  const { after = 0, limit = 100, asOf } = options;
  const from = await startOfStep(store, sessionId, after);
  const steps: SessionStep[] = [];
  let last: Parameters<typeof stepOf>[1] | null = null;
  for await (const traced of readTrace(store, from, { sessionId, redact: (text) => text, content: false })) {
    last = traced;
    if (traced.seq <= after) continue;
    for (const record of traced.records) if (record.type === "step") steps.push(stepOf(record, traced));
    if (steps.length >= limit) return freeze({ steps, next: traced.seq });
  }
  const open = asOf === undefined ? null : (last?.underWay(asOf) ?? null);
  if (open !== null && last !== null) steps.push(stepOf(open, last));
  return freeze({ steps, next: null });
}

type StepRecord = TraceRecordOf<"step">;

function stepOf(
  step: StepRecord,
  {
    preparedAt,
  }: { readonly preparedAt: (step: StepRecord) => number; readonly underWay: (now: number) => StepRecord | null },
): SessionStep {
  const { runId, modelCallIndex, purpose, startedAt, durationMs, attempts, calls, underWay } = step;
  const failures = attempts.filter(({ failure }) => failure !== undefined).length;
  const waits = calls.some(({ outcome, waits: all }) => outcome === undefined && all.length > 0);
  const flags: SessionStep["flags"][number][] = [
    ...(underWay === true ? (["under_way"] as const) : []),
    ...(failures > 0 ? (["retried"] as const) : []),
    ...(failures > 0 && failures === attempts.length && underWay !== true ? (["failed"] as const) : []),
    ...(underWay === true && waits ? (["waits"] as const) : []),
  ];
  const usage = attempts.map((attempt) => attempt.usage ?? {}).reduce(addUsage, {});
  return {
    seq: preparedAt(step),
    ...{ runId, modelCallIndex, purpose, startedAt, durationMs },
    attempts: attempts.length,
    usage,
    flags,
    calls: calls.map(callOf),
  };
}

function callOf({ callKey, name, outcome, ran }: TracedCall): SessionStepCall {
  return { callKey, name, outcome: outcome ?? null, durationMs: ran?.durationMs ?? null };
}

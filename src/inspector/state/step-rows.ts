/**
 * The steps of a session, one short row each: loaded by the thousand, and kept up to date by later events.
 *
 * 1. Rows are in the order of the log. When an event names a step for the first time, its row is added at the end.
 * 2. No event is counted twice: rows are loaded up to an entry, and only later events are applied.
 */
import { parseCallKey } from "../../core/data/call-key.js";
import type { PublicEvent } from "../../index.js";
import { toStepKey } from "./route.js";

export type CallRow = { readonly name: string; readonly outcome: string | null; readonly ms: number | null };

export type StepFlag = "under_way" | "retried" | "failed" | "waits";

export type StepRow = {
  /** `runId/modelCallIndex` */
  readonly key: string;
  /** The first entry of the step. */
  readonly seq: number;
  readonly runId: string;
  readonly index: number;
  /** In epoch milliseconds. */
  readonly startedAt: number;
  readonly ms: number;
  readonly attempts: number;
  /** In tokens; null if unknown. */
  readonly input: number | null;
  readonly cacheRead: number | null;
  readonly output: number | null;
  readonly flags: readonly StepFlag[];
  readonly calls: readonly CallRow[];
  /** How long the model ran, and how long the step waited for a person or an outside result. */
  readonly modelMs: number;
  readonly waitedMs: number;
  /** Since when a call has been waiting, as far as `waitedMs` does not include it; null if no call waits. */
  readonly waitsSince: number | null;
};

/** A row of `/v1/sessions/ID/steps`, in the order of its columns. */
export type LoadedStep = readonly [
  seq: number,
  runId: string,
  index: number,
  startedAt: number,
  ms: number,
  attempts: number,
  input: number | null,
  cacheRead: number | null,
  output: number | null,
  flags: readonly StepFlag[],
  calls: readonly (readonly [name: string, outcome: string | null, ms: number | null])[],
  modelMs: number,
  waitedMs: number,
];

export function toStepRow(loaded: LoadedStep): StepRow {
  const [seq, runId, index, startedAt, ms, attempts, input, cacheRead, output, flags, calls, modelMs, waitedMs] =
    loaded;
  return {
    key: toStepKey(runId, index),
    seq,
    runId,
    index,
    startedAt,
    ms,
    attempts,
    input,
    cacheRead,
    output,
    flags,
    calls: calls.map(([name, outcome, durationMs]) => ({ name, outcome, ms: durationMs })),
    modelMs,
    waitedMs,
    waitsSince: flags.includes("waits") ? startedAt + ms : null,
  };
}

/** The event before another one: a step begins when the previous one has ended. */
export type PreviousEvent = { readonly seq: number; readonly at: number };

/** Applies an event of the log to the rows. */
export function applyEvent(rows: readonly StepRow[], event: PublicEvent, previous: PreviousEvent): readonly StepRow[] {
  const at = locateStep(event);
  if (at === null) return event.type === "final" ? endRun(rows, event) : rows;
  const next = addStep(rows, at.runId, at.index, previous);
  const row = next[next.length - 1 - offsetFromEnd(next, toStepKey(at.runId, at.index))];
  if (row === undefined) return rows;
  const changed = updateRow({ ...row, ms: Math.max(row.ms, event.at - row.startedAt) }, event);
  return replaceRow(next, changed);
}

/** Adds a step that a delta names for the first time, when none of it is in the log yet. */
export function addStep(
  rows: readonly StepRow[],
  runId: string,
  index: number,
  previous: PreviousEvent,
): readonly StepRow[] {
  const key = toStepKey(runId, index);
  if (offsetFromEnd(rows, key) < rows.length) return rows;
  const row: StepRow = {
    key,
    seq: previous.seq + 1,
    runId,
    index,
    startedAt: previous.at,
    ms: 0,
    attempts: 1,
    input: null,
    cacheRead: null,
    output: null,
    flags: ["under_way"],
    calls: [],
    modelMs: 0,
    waitedMs: 0,
    waitsSince: null,
  };
  const last = rows.at(-1);
  return last === undefined ? [row] : [...rows.slice(0, -1), removeFlag(last, "under_way"), row];
}

/** The step that an event belongs to; null if there is none. */
export function locateStep(event: PublicEvent): { readonly runId: string; readonly index: number } | null {
  if (event.type === "late_result") return null;
  if ("modelCallIndex" in event) return { runId: event.runId, index: event.modelCallIndex };
  if (!("callKey" in event) || event.callKey === undefined) return null;
  const { runId, modelCallIndex: index, position } = parseCallKey(event.callKey);
  return position === 0 ? null : { runId, index };
}

function updateRow(row: StepRow, event: PublicEvent): StepRow {
  switch (event.type) {
    case "attempt_failed":
      return addFlag({ ...row, attempts: Math.max(row.attempts, event.attempt) }, "retried");
    case "message":
      return { ...row, attempts: Math.max(row.attempts, event.attempt) };
    case "step_finished": {
      const { inputTokens, cacheReadTokens, outputTokens } = event.usage;
      const tokens = {
        input: inputTokens ?? null,
        cacheRead: cacheReadTokens ?? null,
        output: outputTokens ?? null,
      };
      const modelMs = Math.max(row.modelMs, event.at - row.startedAt);
      return { ...row, ...tokens, modelMs, attempts: Math.max(row.attempts, event.attempt) };
    }
    case "call_start":
    case "tool_call":
      return updateCall(row, event.callKey, (call) => ({ ...call, name: event.name }));
    case "approval_requested":
    case "wait_started":
      return addFlag({ ...row, waitsSince: row.waitsSince ?? event.at }, "waits");
    case "approval_answered":
    case "wait_over":
      return removeFlag(endWait(row, event.at), "waits");
    case "tool_result":
      return removeFlag(
        updateCall(endWait(row, event.at), event.callKey, (call) => ({
          ...call,
          name: event.name,
          outcome: event.outcome,
        })),
        "waits",
      );
    case "call_complete":
      return updateCall(row, event.callKey, (call) => ({ ...call, ms: event.durationMs }));
    default:
      return row;
  }
}

function endRun(rows: readonly StepRow[], event: Extract<PublicEvent, { readonly type: "final" }>): readonly StepRow[] {
  const last = rows.at(-1);
  if (last === undefined || last.runId !== event.runId) return rows;
  const endedRow = removeFlag(removeFlag(last, "under_way"), "waits");
  const isFailed = event.result.status === "failed" && last.flags.includes("retried") && last.calls.length === 0;
  return replaceRow(rows, isFailed ? addFlag(endedRow, "failed") : endedRow);
}

function endWait(row: StepRow, at: number): StepRow {
  if (row.waitsSince === null) return row;
  return { ...row, waitedMs: row.waitedMs + Math.max(0, at - row.waitsSince), waitsSince: null };
}

function updateCall(row: StepRow, callKey: string, change: (call: CallRow) => CallRow): StepRow {
  const at = parseCallKey(callKey).position - 1;
  if (!Number.isSafeInteger(at) || at < 0 || at > 10_000) return row;
  const calls = [...row.calls];
  while (calls.length <= at) calls.push({ name: "", outcome: null, ms: null });
  calls[at] = change(calls[at] ?? { name: "", outcome: null, ms: null });
  return { ...row, calls };
}

/** The number of rows after the row with this key; the number of all rows if there is no such row. */
function offsetFromEnd(rows: readonly StepRow[], key: string): number {
  for (let at = rows.length - 1; at >= 0; at -= 1) if (rows[at]?.key === key) return rows.length - 1 - at;
  return rows.length;
}

function replaceRow(rows: readonly StepRow[], row: StepRow): readonly StepRow[] {
  const at = rows.length - 1 - offsetFromEnd(rows, row.key);
  return at < 0 ? rows : [...rows.slice(0, at), row, ...rows.slice(at + 1)];
}

function addFlag(row: StepRow, flag: StepFlag): StepRow {
  return row.flags.includes(flag) ? row : { ...row, flags: [...row.flags, flag] };
}

function removeFlag(row: StepRow, flag: StepFlag): StepRow {
  return row.flags.includes(flag) ? { ...row, flags: row.flags.filter((one) => one !== flag) } : row;
}

const failedOutcomes: ReadonlySet<string | null> = new Set(["error", "denied", "blocked", "aborted", "interrupted"]);

export function isFailedCall({ outcome }: CallRow): boolean {
  return failedOutcomes.has(outcome);
}

export type StepFilter = "all" | "failed" | "waiting" | "retried" | "slow";

/** The duration from which a step is slow, in milliseconds. */
export const slowMs = 10_000;

export function matchesFilter(row: StepRow, filter: StepFilter): boolean {
  switch (filter) {
    case "all":
      return true;
    case "failed":
      return row.flags.includes("failed") || row.calls.some(isFailedCall);
    case "waiting":
      return row.flags.includes("waits");
    case "retried":
      return row.flags.includes("retried");
    case "slow":
      return row.ms >= slowMs && !row.flags.includes("waits");
  }
}

/** Whether the step is one that a person who looks for problems should see next. */
export function isProblem(row: StepRow): boolean {
  return matchesFilter(row, "failed") || matchesFilter(row, "waiting") || matchesFilter(row, "retried");
}

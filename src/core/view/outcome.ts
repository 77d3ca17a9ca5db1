/**
 * Outcomes: how a run ended, or what it waits for, as data (LOOP-7).
 */

import type { Fault, Json, Usage } from "../data/message.js";
import { type InterruptedReason, type Reason, reasons } from "../data/reasons.js";
import { asksOutside, hasCalls, type State } from "../machine/state.js";
import type { CallRecords } from "../transcript/call-records.js";
import type { Transcript } from "../transcript/transcript.js";

/** Something that waits for somebody outside: an approval, a question of recovery, or a result that comes from elsewhere. */
export type PendingApproval = {
  readonly sessionId: string;
  readonly runId: string;
  readonly callKey: string;
  readonly toolCallId: string;
  readonly name: string;
  readonly input: Json;
  /** SHA-256 of the canonical input: an answer that carries it counts for this input only. */
  readonly inputHash?: string;
  readonly why: "policy" | "recovery" | "external";
  readonly question?: string;
  /** Epoch milliseconds. */
  readonly askedAt: number;
  readonly expiresAt?: number;
};

type ResultBase = {
  readonly sessionId: string;
  readonly runId: string;
  /** The answer; where the model gave none, a fixed sentence for the reason. */
  readonly text: string;
  readonly usage: Usage;
  /** Model calls that were committed. */
  readonly steps: number;
};

/** The answer as data, where a shape was asked for. */
type WithOutput<Output> = [Output] extends [never] ? { readonly output?: Json } : { readonly output: Output };

/** How a run ended, or why it stopped here. `Output` is what the schema of its answer gives. */
export type RunResult<Output = never> = ResultBase &
  (
    | ({ readonly status: "completed"; readonly reason: Reason } & WithOutput<Output>)
    | { readonly status: "failed"; readonly reason: Reason; readonly error?: Fault }
    | { readonly status: "aborted"; readonly reason: Reason }
    | { readonly status: "awaiting_human"; readonly approvals: readonly PendingApproval[] }
    | {
        readonly status: "interrupted";
        readonly reason: InterruptedReason;
        readonly resumable: true;
        readonly error?: Fault;
      }
  );

/** What waits for somebody outside, in call order. */
export function approvalsOf(
  sessionId: string,
  state: State,
  { calls }: { readonly calls: CallRecords },
): readonly PendingApproval[] {
  if (!hasCalls(state)) return [];
  return state.calls.flatMap((call): readonly PendingApproval[] => {
    const record = calls.get(call.callKey);
    if (record === undefined || !asksOutside(call)) return [];
    return [
      {
        sessionId,
        runId: state.runId,
        callKey: call.callKey,
        toolCallId: record.part.toolCallId,
        name: call.name,
        input: record.input,
        why: call.status === "asking" ? call.why : "external",
        ...(call.inputHash === undefined ? {} : { inputHash: call.inputHash }),
        askedAt: call.askedAt,
        ...(record.question === undefined ? {} : { question: record.question }),
        ...(call.status === "asking" && call.expiresAt !== undefined ? { expiresAt: call.expiresAt } : {}),
      },
    ];
  });
}

/** Since when somebody outside is asked (epoch milliseconds): the earliest where there are several, null where nobody is. */
export function askedAt(state: State): number | null {
  if (!hasCalls(state)) return null;
  return state.calls.reduce<number | null>((earliest, call) => {
    if (!asksOutside(call)) return earliest;
    const at = call.askedAt;
    return earliest === null ? at : Math.min(earliest, at);
  }, null);
}

/** The result of a run that has ended, or that waits; null while it goes on. */
export function resultOf(sessionId: string, state: State, transcript: Transcript): RunResult | null {
  const { run } = transcript;
  if (run === null || state.status === "idle" || state.runId !== run.runId) return null;
  const base = { sessionId, runId: run.runId, usage: state.usage, steps: state.counters.totalSteps };
  switch (state.status) {
    case "completed":
      return endOf(base, state.reason, undefined, transcript);
    case "failed":
      return endOf(base, state.reason, state.fault, transcript);
    case "aborted":
      return endOf(base, state.reason, undefined, transcript);
    case "awaiting_human":
      return {
        ...base,
        status: "awaiting_human",
        text: run.answer.trim(),
        approvals: approvalsOf(sessionId, state, transcript),
      };
    case "preparing":
    case "model_running":
    case "tool_running":
      return null;
  }
}

/** The result of a run that was aborted before it started. */
export function abortedBefore(sessionId: string, runId: string): RunResult {
  return { sessionId, runId, status: "aborted", reason: "aborted", text: reasons.aborted.text, usage: {}, steps: 0 };
}

function endOf(
  base: Omit<ResultBase, "text">,
  reason: Reason,
  fault: Fault | undefined,
  transcript: Transcript,
): RunResult {
  const { run } = transcript;
  const { status, text: fixed } = reasons[reason];
  const said = saidAtEnd(reason, transcript);
  const text = reason === "aborted" || said === "" ? fixed : said;
  switch (status) {
    case "completed":
      return { ...base, text, status, reason, ...(run?.output === undefined ? {} : { output: run.output }) };
    case "failed":
      return { ...base, text, status, reason, ...(fault === undefined ? {} : { error: fault }) };
    case "aborted":
      return { ...base, text, status, reason };
  }
}

/** What the model said at the end. The words that go with tool calls are no answer, but where they signal the end or were cut. */
function saidAtEnd(reason: Reason, { run, calls }: Transcript): string {
  if (run === null) return "";
  const mayBeDone = reason === "done" || reason === "invalid_output";
  if (mayBeDone && run.doneMessage !== undefined) return run.doneMessage;
  return calls.size === 0 || endsWithinStep.has(reason) ? run.answer.trim() : "";
}

const endsWithinStep: ReadonlySet<Reason> = new Set([
  "done",
  "invalid_output",
  "output_limit",
  "context_limit",
  "content_filter",
  "model_error",
]);

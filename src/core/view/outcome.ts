/**
 * Outcomes: how a run ended, or which answers it waits for, as data.
 */

import { type Fault, type Json, type Usage, untrimmedTextOf } from "../data/message.js";
import { type InterruptedReason, type Reason, reasons } from "../data/reasons.js";
import { roundCost } from "../data/usage.js";
import type { CallsState } from "../machine/calls.js";
import { asksOutside, type Call, hasCalls, isSuspended, openQuestionsOf, type State } from "../machine/state.js";
import type { CallRecords } from "../transcript/call-records.js";
import type { Transcript } from "../transcript/transcript.js";
import { type ChildQuestions, noQuestions } from "./child-questions.js";
import type { PendingApproval } from "./pending-approval.js";
import { listWaits, type RunWait } from "./run-wait.js";
import { formatQuestion, listToolQuestions } from "./tool-questions.js";

export type { PendingApproval } from "./pending-approval.js";
export type { RunWait } from "./run-wait.js";

type ResultBase = {
  readonly sessionId: string;
  readonly runId: string;
  /** The answer, or a fixed sentence for the reason if the model gave none. */
  readonly text: string;
  /**
   * The part of an answer that arrived before an abort or a limit cut it off. It is not included in `text`. Absent if nothing had arrived.
   */
  readonly partial?: string;
  readonly usage: Usage;
  /** The number of model calls that were committed. */
  readonly steps: number;
};

/** The answer as data, if the run requested a schema. */
type WithOutput<Output> = [Output] extends [never]
  ? {
      /** The answer as data, with the type of the schema. */
      readonly output?: Json;
    }
  : {
      /** The answer as data, with the type of the schema. */
      readonly output: Output;
    };

/** How a run ended, or why it stopped in this process. `Output` is the type of the answer's schema. */
export type RunResult<Output = never> = ResultBase &
  (
    | ({
        /** The run completed, and `text` is the answer. */
        readonly status: "completed";
        /** Why the run ended, for example `stop` or `stop_condition`. */
        readonly reason: Reason;
        /** With reason `stop_condition`: the condition that held, for example `stepCount(5)`. */
        readonly condition?: string;
      } & WithOutput<Output>)
    /** The run ended early. */
    | {
        readonly status: "failed";
        readonly reason: Reason;
        /** What went wrong. */
        readonly error?: Fault;
      }
    /** The run was aborted. */
    | { readonly status: "aborted"; readonly reason: Reason }
    /** The run waits for a person, or for a result from outside. */
    | {
        readonly status: "awaiting_human";
        /** The open questions, including those of child sessions. */
        readonly approvals: readonly PendingApproval[];
      }
    /**
     * Tools of the run sleep or wait for signals. The run continues when the time comes or the signal arrives, in whichever process drives
     * the store: a worker, a call of `resume`, a serverless tick.
     */
    | {
        readonly status: "waiting";
        /** The sleeps and the waits for signals. */
        readonly waits: readonly RunWait[];
      }
    /** The run stopped in this process, and can be resumed. */
    | {
        readonly status: "interrupted";
        /** Why the run stopped in this process. */
        readonly reason: InterruptedReason;
        /** If false, the store has no record of the request, so there is nothing to resume. Send the request again. */
        readonly resumable: boolean;
        /** What went wrong. */
        readonly error?: Fault;
      }
  );

/**
 * The calls of a session that wait for an answer or a result from outside, in call order.
 * @param questions returns the questions of child sessions, which replace the call that waits for the child
 */
export function approvalsOf(
  sessionId: string,
  state: State,
  { calls }: { readonly calls: CallRecords },
  questions: ChildQuestions = noQuestions,
): readonly PendingApproval[] {
  if (!hasCalls(state)) return [];
  return state.calls.flatMap((call): readonly PendingApproval[] => {
    if (call.status === "waiting" && call.on === "child")
      return call.childId === undefined ? [] : questions(call.childId, call.childSeq);
    const record = calls.get(call.callKey);
    if (record === undefined) return [];
    const { callKey, name } = call;
    const { part, input } = record;
    const core = { sessionId, runId: state.runId, callKey, toolCallId: part.toolCallId, name, input };
    const open = openQuestionsOf(call);
    // The questions of a running call end when the run is stopped.
    if (open !== undefined && (call.status === "asking" || state.stopping === null))
      return listToolQuestions(open, record).map((question) => ({ ...core, ...question, askedAt: question.askedAt }));
    if (!asksOutside(call)) return [];
    const question = formatQuestion(call, record);
    return [
      {
        ...core,
        why: call.status === "asking" ? call.why : "external",
        ...(call.inputHash === undefined ? {} : { inputHash: call.inputHash }),
        askedAt: call.askedAt,
        ...(question === undefined ? {} : { question }),
        ...(call.status === "asking" && call.expiresAt !== undefined ? { expiresAt: call.expiresAt } : {}),
      },
    ];
  });
}

/**
 * When the oldest open question of a session or of its child sessions was asked, in epoch milliseconds; null if there is no open question.
 */
export function askedAt(state: State): number | null {
  if (!hasCalls(state)) return null;
  return state.calls.reduce<number | null>((earliest, call) => {
    const at = findAskedAt(call, state);
    if (at === undefined) return earliest;
    return earliest === null ? at : Math.min(earliest, at);
  }, null);
}

/** The questions of a running call end when the run is stopped. */
function findAskedAt(call: Call, { stopping }: CallsState): number | undefined {
  if (call.status !== "running") return asksOutside(call) ? call.askedAt : undefined;
  return stopping === null && call.held !== undefined ? Math.min(...call.held.map((one) => one.askedAt)) : undefined;
}

/**
 * The result of a run that has ended, or that waits for a person, a time or a signal; null while the run is active. A run counts as active
 * during a sleep or wait of up to five seconds. The approvals include only the session's own, not those of child sessions.
 *
 * @example
 * ```ts
 * import { appendEntry, createTranscript, initialState, resultOf, type State, transition } from "pawl/core";
 *
 * let state: State = initialState;
 * const transcript = createTranscript();
 * for (const entry of await store.read("march")) {
 *   state = transition(state, entry.event);
 *   appendEntry(transcript, entry);
 * }
 * const result = resultOf("march", state, transcript);
 * if (result?.status === "completed") console.log(result.text);
 * ```
 */
export function resultOf(sessionId: string, state: State, transcript: Transcript): RunResult | null {
  const { run } = transcript;
  if (run === null || state.status === "idle" || state.runId !== run.runId) return null;
  const base = { sessionId, runId: run.runId, usage: roundCost(state.usage), steps: state.counters.totalSteps };
  switch (state.status) {
    case "completed":
      return createEndResult(base, state.reason, undefined, transcript);
    case "failed":
      return createEndResult(base, state.reason, state.fault, transcript);
    case "aborted":
      return createEndResult(base, state.reason, undefined, transcript);
    case "awaiting_human":
      return {
        ...base,
        status: "awaiting_human",
        text: run.answer.trim(),
        approvals: approvalsOf(sessionId, state, transcript),
      };
    case "tool_running":
      return isSuspended(state)
        ? { ...base, status: "waiting", text: run.answer.trim(), waits: listWaits(state) }
        : null;
    case "preparing":
    case "model_running":
      return null;
  }
}

/** The result of a run that was aborted before it started. */
export function createAbortedResult(sessionId: string, runId: string): RunResult {
  return { sessionId, runId, status: "aborted", reason: "aborted", text: reasons.aborted.text, usage: {}, steps: 0 };
}

function createEndResult(
  base: Omit<ResultBase, "text">,
  reason: Reason,
  fault: Fault | undefined,
  transcript: Transcript,
): RunResult {
  const { run } = transcript;
  const { status } = reasons[reason];
  const defaultText = textOfEnd(reason, fault);
  const answer = findFinalAnswer(reason, transcript);
  const text = reason === "aborted" || reason === "output_refused" || answer === "" ? defaultText : answer;
  const partial = run?.partial === undefined ? {} : { partial: run.partial };
  switch (status) {
    case "completed":
      return {
        ...base,
        text,
        ...partial,
        status,
        reason,
        ...(run?.output === undefined ? {} : { output: run.output }),
        ...(run?.condition === undefined ? {} : { condition: run.condition }),
      };
    case "failed":
      return { ...base, text, ...partial, status, reason, ...(fault === undefined ? {} : { error: fault }) };
    case "aborted":
      return { ...base, text, ...partial, status, reason };
  }
}

/**
 * The text of a run that ended without an answer: its reason and the error message. The message of a refusal is only in `error`, because it
 * may quote the answer, and programs show this text to the person who must not see the answer.
 */
export function textOfEnd(reason: Reason, fault?: Pick<Fault, "message">): string {
  const { text } = reasons[reason];
  if (reason === "output_refused" || fault === undefined || fault.message.trim() === "") return text;
  return `${text.replace(/\.$/, "")}: ${fault.message.trim()}`;
}

/** The model's answer at the end. Text next to tool calls is an answer only if the calls end the run or the message was cut. */
function findFinalAnswer(reason: Reason, { run, calls }: Transcript): string {
  if (run === null) return "";
  const canEndWithDoneTool = reason === "done" || reason === "invalid_output";
  if (canEndWithDoneTool && run.doneMessage !== undefined) return run.doneMessage;
  return calls.size === 0 || endsWithinStep.has(reason) ? run.answer.trim() : "";
}

/**
 * The findings of a run that a limit ended: the part of its answer that arrived, or otherwise the last two texts that the model wrote next
 * to its calls. Empty if it wrote nothing.
 */
export function collectFindings(reason: Reason, transcript: Transcript): string {
  const { run, messages, seqs } = transcript;
  if (run === null) return "";
  const answer = run.partial ?? findFinalAnswer(reason, transcript);
  if (answer !== "") return answer;
  const texts: string[] = [];
  for (let index = messages.length - 1; index >= 0 && texts.length < 2; index -= 1) {
    if ((seqs[index] ?? 0) <= run.startSeq) break;
    const message = messages[index];
    const text = message?.role === "assistant" ? untrimmedTextOf(message).trim() : "";
    if (text !== "") texts.unshift(text);
  }
  const [last = ""] = texts.slice(-1);
  const both = texts.join("\n\n");
  return both.length <= maxFound ? both : last;
}

/** The maximum length of both texts together, in characters. A single text fits into a log entry, because it came from one. */
const maxFound = 250_000;

const endsWithinStep: ReadonlySet<Reason> = new Set([
  "done",
  "stop_condition",
  "invalid_output",
  "output_limit",
  "context_limit",
  "content_filter",
  "model_error",
]);

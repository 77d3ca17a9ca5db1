/**
 * The calls of one step, from the log: their current inputs, the questions to a person, and why a call did not run.
 */

import { callKeyOf } from "../data/call-key.js";
import { isSameJson } from "../data/json.js";
import { type AssistantMessage, type Json, type ToolCallPart, toolCallsOf } from "../data/message.js";
import type { Entry, EventOf } from "../machine/event.js";
import { approvalExpiredText, excessCallsText, skippedBySteerText } from "./loop-prompts.js";
import type { CallRecord } from "./results.js";
import { forgetFailedSteps, recordToolStep } from "./tool-steps.js";

export type CallRecords = ReadonlyMap<string, CallRecord>;

/** The calls that a message requests, in order. */
export function createCallRecords(
  runId: string,
  modelCallIndex: number,
  message: AssistantMessage,
): Map<string, CallRecord> {
  const records = new Map<string, CallRecord>();
  toolCallsOf(message).forEach((part, index) => {
    const callKey = callKeyOf(runId, modelCallIndex, index + 1);
    const call = { callKey, part, input: part.input, decided: false, changed: false, edited: false, timesInRow: 1 };
    records.set(callKey, call);
  });
  return records;
}

/** The last call that the model requested, and how many times in a row. */
export type LastCall = {
  /** The call. */
  readonly part: ToolCallPart;
  /** How many times in a row it was requested. */
  readonly times: number;
};

/**
 * Counts calls that repeat the previous call, across steps (TOOL-10). Calls above the limit per step are not run (LIM-2): they get a cause
 * and do not count as repeats. Returns the last call that counts.
 */
export function countRepeats(
  records: CallRecords,
  seq: number,
  limit: number | undefined,
  before: LastCall | null,
): LastCall | null {
  let last = before;
  let position = 0;
  for (const call of records.values()) {
    position += 1;
    if (limit !== undefined && position > limit) {
      call.cause = { seq, text: excessCallsText(records.size, limit) };
      continue;
    }
    call.timesInRow = last !== null && isSameCall(last.part, call.part) ? last.times + 1 : 1;
    last = { part: call.part, times: call.timesInRow };
  }
  return last;
}

function isSameCall(a: ToolCallPart, b: ToolCallPart): boolean {
  return a.name === b.name && isSameJson(a.input, b.input);
}

/** Adds the decision, answer or expiry of an entry to its call. Results are recorded elsewhere. */
export function recordCallEntry(records: CallRecords, { seq, event }: Entry): void {
  const call = "callKey" in event && event.callKey !== undefined ? records.get(event.callKey) : undefined;
  if (call === undefined) return;
  switch (event.type) {
    case "tool_decided":
      recordDecision(call, seq, event);
      break;
    case "tool_step_started":
    case "tool_step_finished":
    case "tool_asked":
      recordToolStep(call, { event });
      break;
    case "answered":
      if (event.questionId !== undefined) recordToolStep(call, { event });
      else recordAnswer(call, seq, event);
      break;
    case "timer_fired":
      if (event.questionId !== undefined) recordToolStep(call, { event });
      else if (event.timer === "approval") call.cause = { seq, text: approvalExpiredText };
      break;
    case "tool_failed": {
      const { attempt, fault, timing, retryInMs } = event;
      forgetFailedSteps(call);
      call.failed = [...(call.failed ?? []), { attempt, fault, durationMs: timing.durationMs, retryInMs }];
      break;
    }
    default:
      break;
  }
}

/** Records why calls without a result are skipped. The cause is used only for the calls that the steering message ends. */
export function recordSkip(records: CallRecords, seq: number): void {
  for (const call of records.values()) if (call.result === undefined) call.cause = { seq, text: skippedBySteerText };
}

function recordDecision(call: CallRecord, seq: number, { decision }: EventOf<"tool_decided">): void {
  call.decided = true;
  if (decision.repair !== undefined) {
    call.repair = decision.repair;
    if (decision.repair.name !== undefined) call.tool = decision.repair.name;
  }
  switch (decision.verdict) {
    case "allow":
    case "ask":
      if (decision.input !== undefined) recordInput(call, decision.input, decision.verdict === "ask");
      if (decision.verdict === "ask" && decision.question !== undefined) call.question = decision.question;
      if (decision.policy.handoff !== undefined) call.handoff = decision.policy.handoff;
      break;
    case "deny":
    case "block":
      call.cause = { seq, text: decision.reason };
      break;
    case "reject":
      call.cause = { seq, text: decision.message };
      break;
  }
}

/** Records a new input. A question with the input from before an edit reverts the edit; any other input comes from a hook. */
function recordInput(call: CallRecord, input: Json, isQuestion: boolean): void {
  const { beforeEdit } = call;
  const isReverted = isQuestion && call.edited && beforeEdit !== undefined && isSameJson(input, beforeEdit.input);
  call.input = input;
  call.changed = isReverted ? beforeEdit.changed : true;
  if (isReverted) call.edited = false;
}

function recordAnswer(call: CallRecord, seq: number, { answer }: EventOf<"answered">): void {
  switch (answer.type) {
    case "modify":
      call.beforeEdit = { input: call.input, changed: call.changed };
      call.input = answer.input;
      call.changed = true;
      call.edited = true;
      break;
    case "deny":
    case "fail":
      call.cause = { seq, ...(answer.note === undefined ? {} : { text: answer.note }) };
      break;
    case "result":
      call.cause = { seq, output: answer.output };
      break;
    case "approve":
    case "rerun":
    case "reply":
    case "decline":
      break;
  }
}

/** The message of the last failed attempt of a call; undefined if none failed. */
export function lastFault({ failed }: CallRecord): string | undefined {
  return failed?.at(-1)?.fault.message;
}

/**
 * What the log says of the calls of one step: their inputs as they would run, questions, and why one did not run.
 */

import { isSameJson } from "../data/json.js";
import { type AssistantMessage, type ToolCallPart, toolCallsOf } from "../data/message.js";
import type { Entry, EventOf } from "../machine/event.js";
import { callKeyOf } from "../machine/state.js";
import type { CallRecord } from "./results.js";

export type CallRecords = ReadonlyMap<string, CallRecord>;

/** The calls that a message asks for, in order. */
export function callRecords(runId: string, modelCallIndex: number, message: AssistantMessage): Map<string, CallRecord> {
  const records = new Map<string, CallRecord>();
  toolCallsOf(message).forEach((part, index) => {
    const callKey = callKeyOf(runId, modelCallIndex, index + 1);
    const call = { callKey, part, input: part.input, decided: false, changed: false, edited: false, timesInRow: 1 };
    records.set(callKey, call);
  });
  return records;
}

/** The call that was asked for last, and how often in a row. */
export type LastCall = { readonly part: ToolCallPart; readonly times: number };

/**
 * Counts the calls that repeat the one before (TOOL-10), across steps, and says why those above the limit of a step are not
 * run (LIM-2); they do not count. Returns the last call.
 */
export function countCalls(
  records: CallRecords,
  seq: number,
  most: number | undefined,
  before: LastCall | null,
): LastCall | null {
  let last = before;
  let position = 0;
  for (const call of records.values()) {
    position += 1;
    if (most !== undefined && position > most) {
      call.cause = { seq, text: surplusText(records.size, most) };
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

function surplusText(asked: number, most: number): string {
  return `${asked} calls were asked for at once, and ${most} may be; ask again for what is still needed`;
}

/** Adds what an entry says of one of these calls; its result is not looked at. */
export function recordEntry(records: CallRecords, { seq, event }: Entry): void {
  const call = "callKey" in event && event.callKey !== undefined ? records.get(event.callKey) : undefined;
  if (call === undefined) return;
  switch (event.type) {
    case "tool_decided":
      decide(call, seq, event);
      break;
    case "answered":
      answer(call, seq, event);
      break;
    case "timer_fired":
      call.cause = { seq, text: "nobody answered before the approval expired" };
      break;
    default:
      break;
  }
}

function decide(call: CallRecord, seq: number, { decision }: EventOf<"tool_decided">): void {
  call.decided = true;
  switch (decision.verdict) {
    case "allow":
    case "ask":
      if (decision.input !== undefined) {
        call.input = decision.input;
        call.changed = true;
      }
      if (decision.verdict === "ask" && decision.question !== undefined) call.question = decision.question;
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

function answer(call: CallRecord, seq: number, { answer: given }: EventOf<"answered">): void {
  switch (given.type) {
    case "modify":
      call.input = given.input;
      call.changed = true;
      call.edited = true;
      break;
    case "deny":
    case "fail":
      call.cause = { seq, ...(given.note === undefined ? {} : { text: given.note }) };
      break;
    case "result":
      call.cause = { seq, output: given.output };
      break;
    case "approve":
    case "rerun":
      break;
  }
}

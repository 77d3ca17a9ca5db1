/**
 * Converts the stream of a run to AG-UI 1.0 events.
 *
 * 1. A call is identified by its `callKey`. An interrupt is identified by the `callKey` of its call, the question's id if a tool
 *    asks, and a hash of the input.
 * 2. Every start event has its end event before the run ends, as AG-UI's client requires.
 */

import type { PendingApproval, PublicEvent, ToolOutput } from "../../index.js";
import type { CallChange, NotedItem, ViewChange } from "../../view/view-change.js";
import { formatOutput, toDisplayValue } from "../display-output.js";
import { formatInterruptId } from "../interrupt-id.js";
import type { RunWaiting } from "../run-flow.js";

/** One event: its `type`, and the fields that AG-UI defines for it. */
export type AguiEvent = { readonly type: string; readonly [field: string]: unknown };

/** The run from the client's point of view: each of its requests is an AG-UI run. */
export type AguiRun = {
  readonly threadId: string;
  readonly runId: string;
  /** The session's run. Message ids begin with it, so they are the same in each request. */
  readonly messagesOf: string;
  /** The calls that have begun in this stream, and how much of their input was sent. */
  readonly calls: Map<string, "nothing" | "some" | "all">;
};

export function toAguiEvents(item: ViewChange | RunWaiting, run: AguiRun): readonly AguiEvent[] {
  switch (item.type) {
    case "step_started":
      return [{ type: "STEP_STARTED", stepName: `${item.modelCallIndex}.${item.attempt}` }];
    case "step_ended":
      return [{ type: "STEP_FINISHED", stepName: `${item.modelCallIndex}.${item.attempt}` }];
    case "part_started":
    case "part_grew":
    case "part_ended":
      return toPartEvents(item, run);
    case "part_whole":
      return [createCustomEvent(item.content.type, item.content)];
    case "call_opened":
      return item.by?.type === "tool_call"
        ? completeCall(item.callKey, item.name, item.by.input, run)
        : startCall(item.callKey, item.name, run);
    case "call_changed":
      return toCallEvents(item.callKey, item.by, run);
    case "call_ended": {
      const { by } = item;
      const content = by === null ? "The model did not finish this call." : formatOutput(findDisplayOutput(by));
      return [...endInput(item.callKey, run), result(item.callKey, content)];
    }
    case "question_opened": {
      const { childId, callKey, name, input } = item.question;
      return childId === undefined ? [] : completeCall(callKey, name, input, run);
    }
    case "run_ended":
      return [...endOpenInputs(run), ...toFinalEvents(item.by, run)];
    case "waiting":
      if (item.approvals.length === 0)
        return [
          ...endOpenInputs(run),
          createCustomEvent("waiting", { waits: item.waits }),
          createFinishedEvent(run, { type: "success" }),
        ];
      return [
        ...endOpenInputs(run),
        createFinishedEvent(run, { type: "interrupt", interrupts: item.approvals.map(toInterrupt) }),
      ];
    case "note":
      return toNoteEvents(item.item);
    case "question_closed":
    case "run_started":
    case "gap":
      return [];
  }
}

type PartChange = Extract<ViewChange, { readonly type: "part_started" | "part_grew" | "part_ended" }>;

function toPartEvents(item: PartChange, { messagesOf }: AguiRun): readonly AguiEvent[] {
  const messageId = `${messagesOf}/${item.part}`;
  const isText = item.kind === "text";
  switch (item.type) {
    case "part_started":
      return isText
        ? [{ type: "TEXT_MESSAGE_START", messageId, role: "assistant" }]
        : [
            { type: "REASONING_START", messageId },
            { type: "REASONING_MESSAGE_START", messageId, role: "reasoning" },
          ];
    case "part_grew":
      return [{ type: isText ? "TEXT_MESSAGE_CONTENT" : "REASONING_MESSAGE_CONTENT", messageId, delta: item.text }];
    case "part_ended":
      return isText
        ? [{ type: "TEXT_MESSAGE_END", messageId }]
        : [
            { type: "REASONING_MESSAGE_END", messageId },
            { type: "REASONING_END", messageId },
          ];
  }
}

function startCall(toolCallId: string, toolCallName: string, { calls }: AguiRun): readonly AguiEvent[] {
  if (calls.has(toolCallId)) return [];
  calls.set(toolCallId, "nothing");
  return [{ type: "TOOL_CALL_START", toolCallId, toolCallName }];
}

function addInput(toolCallId: string, delta: string, { calls }: AguiRun): readonly AguiEvent[] {
  calls.set(toolCallId, "some");
  return [{ type: "TOOL_CALL_ARGS", toolCallId, delta }];
}

function endInput(toolCallId: string, { calls }: AguiRun): readonly AguiEvent[] {
  const sent = calls.get(toolCallId);
  if (sent === undefined || sent === "all") return [];
  calls.set(toolCallId, "all");
  return [{ type: "TOOL_CALL_END", toolCallId }];
}

/** Sends an input that was not streamed in one piece. */
function completeCall(toolCallId: string, name: string, input: unknown, run: AguiRun): readonly AguiEvent[] {
  const startEvents = startCall(toolCallId, name, run);
  const isNew = run.calls.get(toolCallId) === "nothing";
  const args = isNew ? addInput(toolCallId, JSON.stringify(input), run) : [];
  return [...startEvents, ...args, ...endInput(toolCallId, run)];
}

function result(toolCallId: string, content: string): AguiEvent {
  return { type: "TOOL_CALL_RESULT", messageId: `${toolCallId}/result`, toolCallId, content, role: "tool" };
}

/** The tool's own return value, unless the call failed. */
function findDisplayOutput(by: NonNullable<Extract<ViewChange, { readonly type: "call_ended" }>["by"]>): ToolOutput {
  return "returned" in by && by.returned !== undefined && by.isError !== true ? by.returned : by.output;
}

function toCallEvents(callKey: string, change: CallChange, run: AguiRun): readonly AguiEvent[] {
  switch (change.type) {
    case "input_grew":
      return addInput(callKey, change.text, run);
    case "call_start":
      return startCall(callKey, change.name, run);
    case "tool_call":
      return completeCall(callKey, change.name, change.input, run);
    case "preliminary":
      return [createCustomEvent("preliminary", { callKey, output: toDisplayValue(change.output) })];
    case "progress":
      return [createCustomEvent("progress", { callKey, note: change.note })];
    case "child_started":
    case "tool_step":
    case "tool_failed":
      return [];
  }
}

function toNoteEvents(item: NotedItem): readonly AguiEvent[] {
  switch (item.type) {
    case "attempt_failed":
      return [
        createCustomEvent("attempt_failed", {
          next: item.next,
          retryInMs: item.retryInMs,
          message: item.failure.message,
        }),
      ];
    case "restarted":
      return [createCustomEvent("restarted", {})];
    case "handed_off":
      return [createCustomEvent("handed_off", { from: item.from, to: item.to })];
    case "compacted": {
      const content = { tokensBefore: item.tokensBefore, tokensAfter: item.tokensAfter };
      return [{ type: "ACTIVITY_SNAPSHOT", messageId: `compacted/${item.seq}`, activityType: "COMPACTED", content }];
    }
    default:
      // Every other event is for other consumers: the trace, the log, an author's own page.
      return [];
  }
}

function createCustomEvent(name: string, value: object): AguiEvent {
  return { type: "CUSTOM", name: `pawl.${name}`, value };
}

function endOpenInputs(run: AguiRun): readonly AguiEvent[] {
  return [...run.calls.keys()].flatMap((callKey) => endInput(callKey, run));
}

function createFinishedEvent({ threadId, runId }: AguiRun, outcome: object, extraFields: object = {}): AguiEvent {
  return { type: "RUN_FINISHED", threadId, runId, outcome, ...extraFields };
}

function toInterrupt(approval: PendingApproval): object {
  const { callKey: toolCallId, name, why, question, schema, url, expiresAt, input } = approval;
  return {
    id: formatInterruptId(approval),
    reason: interruptReasons[why],
    toolCallId,
    ...(question === undefined ? {} : { message: question }),
    responseSchema: why === "tool" ? (schema ?? {}) : responseSchemas[why],
    ...(expiresAt === undefined ? {} : { expiresAt: new Date(expiresAt).toISOString() }),
    metadata: { name, input, why, ...(url === undefined ? {} : { url }) },
  };
}

const interruptReasons: { readonly [Why in PendingApproval["why"]]: string } = {
  policy: "tool_call",
  provider: "tool_call",
  recovery: "pawl:recovery",
  external: "pawl:external",
  tool: "input_required",
};

const approvalSchema = {
  type: "object",
  properties: { approved: { type: "boolean" }, editedInput: {}, note: { type: "string" } },
  required: ["approved"],
} as const;

/** The schema of an answer, by the reason for which the call waits. */
const responseSchemas: { readonly [Why in Exclude<PendingApproval["why"], "tool">]: object } = {
  policy: approvalSchema,
  provider: approvalSchema,
  recovery: {
    type: "object",
    properties: { decision: { enum: ["rerun", "result", "fail"] }, output: {}, note: { type: "string" } },
    required: ["decision"],
  },
  external: { type: "object", properties: { output: {}, isError: { type: "boolean" } }, required: ["output"] },
};

function toFinalEvents(
  { result: { usage, steps, text, ...ending } }: Extract<PublicEvent, { readonly type: "final" }>,
  run: AguiRun,
): readonly AguiEvent[] {
  const usageFields = { usage: [toUsage(usage)] };
  switch (ending.status) {
    case "failed":
      return [{ type: "RUN_ERROR", message: ending.error?.message ?? text, code: ending.reason, ...usageFields }];
    case "aborted":
      return [createFinishedEvent(run, { type: "cancelled" }, usageFields)];
    default:
      return [createFinishedEvent(run, { type: "success" }, { result: { text, steps }, ...usageFields })];
  }
}

type Usage = Extract<PublicEvent, { readonly type: "final" }>["result"]["usage"];

function toUsage({ inputTokens, outputTokens, reasoningTokens, cacheReadTokens, cacheWriteTokens }: Usage): object {
  return {
    inputTokens,
    outputTokens,
    reasoningTokens,
    cachedInputTokens: cacheReadTokens,
    cacheWriteInputTokens: cacheWriteTokens,
  };
}

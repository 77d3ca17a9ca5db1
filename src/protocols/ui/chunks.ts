/**
 * The chunks of the AI SDK's UI message stream, version 1: what `useChat` of versions 6 and 7 reads.
 *
 * 1. One run is one message of the assistant, and the id of the run is the id of the message.
 * 2. A call is named by its `callKey`, which no other call of the session has. An approval has the same id.
 * 3. The tools are dynamic ones: the page knows them by name, not by type.
 */
import type { FilePart, PendingApproval, PublicEvent, SourcePart, ToolCallPart } from "../../index.js";
import { type CallChange, type Noted, questionKey, type ViewChange } from "../../view/view-change.js";
import type { Waiting } from "../run-flow.js";
import { shownOutput, textOfOutput } from "../shown-output.js";

/** One chunk. Its shape is that of the AI SDK's `UIMessageChunk`, as far as Pawl writes it. */
export type UiChunk =
  | { readonly type: "start"; readonly messageId: string; readonly messageMetadata?: RunMetadata }
  | { readonly type: "start-step" | "finish-step" }
  | { readonly type: "text-start" | "text-end" | "reasoning-start" | "reasoning-end"; readonly id: string }
  | { readonly type: "text-delta" | "reasoning-delta"; readonly id: string; readonly delta: string }
  | {
      readonly type: "tool-input-start";
      readonly toolCallId: string;
      readonly toolName: string;
      readonly dynamic: true;
    }
  | { readonly type: "tool-input-delta"; readonly toolCallId: string; readonly inputTextDelta: string }
  | {
      readonly type: "tool-input-available";
      readonly toolCallId: string;
      readonly toolName: string;
      readonly input: unknown;
      readonly dynamic: true;
      readonly providerExecuted?: true;
    }
  | { readonly type: "tool-approval-request"; readonly approvalId: string; readonly toolCallId: string }
  | {
      readonly type: "tool-output-available";
      readonly toolCallId: string;
      readonly output: unknown;
      readonly dynamic: true;
      readonly preliminary?: true;
      readonly providerExecuted?: true;
    }
  | {
      readonly type: "tool-output-error";
      readonly toolCallId: string;
      readonly errorText: string;
      readonly dynamic: true;
    }
  | { readonly type: "tool-output-denied"; readonly toolCallId: string }
  | { readonly type: "file"; readonly url: string; readonly mediaType: string }
  | { readonly type: "source-url"; readonly sourceId: string; readonly url: string; readonly title?: string }
  | {
      readonly type: "source-document";
      readonly sourceId: string;
      readonly mediaType: string;
      readonly title: string;
      readonly filename?: string;
    }
  | { readonly type: "message-metadata"; readonly messageMetadata: RunMetadata }
  | { readonly type: "finish"; readonly finishReason?: "stop" | "tool-calls" | "error" | "other" }
  | { readonly type: "abort"; readonly reason?: string }
  | { readonly type: "error"; readonly errorText: string }
  | DataChunk;

/** Parts of Pawl's own. A transient part is shown to `onData`, and is no part of the message. */
export type DataChunk = {
  readonly type: `data-pawl-${"retry" | "progress" | "compacted" | "handoff" | "question" | "steered"}`;
  readonly id?: string;
  readonly data: { readonly [key: string]: unknown };
  readonly transient?: true;
};

/** The metadata of the message. */
export type RunMetadata = {
  readonly sessionId?: string;
  readonly status?: string;
  readonly reason?: string;
  /** Why the run failed. */
  readonly error?: string;
  readonly usage?: { readonly [count: string]: number | boolean | undefined };
  readonly steps?: number;
};

/** What the page has already. */
export type Known = {
  /** The calls that have parts. */
  readonly calls: Set<string>;
  /** The questions, by `questionKey`. */
  readonly questions: Map<string, QuestionData>;
  /** The inputs of the calls that ask, by their keys. */
  readonly inputs: Map<string, unknown>;
};

/** The part `data-pawl-question`: what somebody is asked, and the answer once there is one. */
export type QuestionData = {
  readonly callKey: string;
  readonly why?: PendingApproval["why"];
  readonly question?: string | undefined;
  /** An answer of one's own, in the field `answers`, names one of these two. */
  readonly questionId?: string | undefined;
  readonly inputHash?: string | undefined;
  readonly schema?: object | undefined;
  readonly url?: string | undefined;
  /** Epoch milliseconds. */
  readonly expiresAt?: number | undefined;
  /** Present once it is answered: `approve`, `deny`, `reply`, and so on. */
  readonly answer?: string;
  readonly value?: unknown;
  readonly note?: string | undefined;
  readonly by?: string | undefined;
};

export function createKnown(): Known {
  return { calls: new Set(), questions: new Map(), inputs: new Map() };
}

export function chunksOf(item: ViewChange | Waiting, known: Known): readonly UiChunk[] {
  switch (item.type) {
    case "step_started":
      return [{ type: "start-step" }];
    case "step_ended":
      return [{ type: "finish-step" }];
    case "part_started":
      return [{ type: `${item.kind}-start`, id: item.part }];
    case "part_grew":
      return [{ type: `${item.kind}-delta`, id: item.part, delta: item.text }];
    case "part_ended":
      return [{ type: `${item.kind}-end`, id: item.part }];
    case "part_whole":
      return item.content.type === "file" ? [fileChunk(item.content)] : sourceChunks(item.content);
    case "call_opened":
      return item.by?.type === "tool_call" ? providersCall(item.by) : begunCall(item.callKey, item.name, known);
    case "call_changed":
      return changedCall(item.callKey, item.by, known);
    case "call_ended":
      return endedCall(item, known);
    case "question_opened":
      return questionChunks(item.question, known);
    case "question_closed":
      return item.by === null ? [] : answeredChunks(item.by, known);
    case "run_ended":
      return finalChunks(item.by);
    case "waiting":
      return [{ type: "finish", finishReason: "tool-calls" }];
    case "note":
      return noteChunks(item.item);
    case "run_started":
    case "gap":
      return [];
  }
}

function begunCall(callKey: string, name: string, known: Known): readonly UiChunk[] {
  if (known.calls.has(callKey)) return [];
  known.calls.add(callKey);
  return [{ type: "tool-input-start", toolCallId: callKey, toolName: name, dynamic: true }];
}

function failedCall(toolCallId: string, errorText: string): UiChunk {
  return { type: "tool-output-error", toolCallId, errorText, dynamic: true };
}

function changedCall(callKey: string, change: CallChange, known: Known): readonly UiChunk[] {
  switch (change.type) {
    case "input_grew":
      return [{ type: "tool-input-delta", toolCallId: callKey, inputTextDelta: change.text }];
    case "call_start":
      return begunCall(callKey, change.name, known);
    case "tool_call":
      return availableCall(change, known);
    case "preliminary": {
      const output = shownOutput(change.output);
      return [{ type: "tool-output-available", toolCallId: callKey, output, dynamic: true, preliminary: true }];
    }
    case "progress":
      return [dataChunk("progress", { callKey, note: change.note }, true)];
    case "child_started":
    case "tool_step":
    case "tool_failed":
      return [];
  }
}

function endedCall(
  { callKey, name, by }: Extract<ViewChange, { readonly type: "call_ended" }>,
  known: Known,
): readonly UiChunk[] {
  if (by === null) return [failedCall(callKey, "The model did not finish this call.")];
  if ("seq" in by) return [...begunCall(callKey, name, known), resultChunk(by)];
  if (by.isError === true) return [failedCall(callKey, textOfOutput(by.output))];
  const given = { type: "tool-output-available", toolCallId: callKey, output: shownOutput(by.output) } as const;
  return [{ ...given, dynamic: true, providerExecuted: true }];
}

function providersCall({ toolCallId, name: toolName, input }: ToolCallPart): readonly UiChunk[] {
  return [
    { type: "tool-input-start", toolCallId, toolName, dynamic: true },
    { type: "tool-input-available", toolCallId, toolName, input, dynamic: true, providerExecuted: true },
  ];
}

function fileChunk({ mediaType, data }: FilePart): UiChunk {
  const url = /^(?:https?|data):/.test(data) ? data : `data:${mediaType};base64,${data}`;
  return { type: "file", mediaType, url };
}

function sourceChunks({ id: sourceId, url, title, filename, mediaType }: SourcePart): readonly UiChunk[] {
  const named = title === undefined ? {} : { title };
  if (url !== undefined) return [{ type: "source-url", sourceId, url, ...named }];
  const file = filename === undefined ? {} : { filename };
  const text = title ?? filename ?? sourceId;
  return [
    { type: "source-document", sourceId, mediaType: mediaType ?? "application/octet-stream", title: text, ...file },
  ];
}

function noteChunks(item: Noted): readonly UiChunk[] {
  switch (item.type) {
    case "attempt_failed": {
      const { modelCallIndex, attempt, next, retryInMs } = item;
      const message = item.failure.message;
      return [dataChunk("retry", { modelCallIndex, attempt, next, retryInMs, message }, true)];
    }
    case "restarted":
      return [dataChunk("retry", { next: "restart" }, true)];
    case "compacted":
      return [dataChunk("compacted", { tokensBefore: item.tokensBefore, tokensAfter: item.tokensAfter })];
    case "handed_off":
      return [dataChunk("handoff", { from: item.from, to: item.to })];
    case "steered":
      return item.source === "user" ? [dataChunk("steered", { input: item.input })] : [];
    default:
      // Every other event is for other readers: the trace, the log, a page of one's own.
      return [];
  }
}

function dataChunk(name: "retry" | "progress", data: DataChunk["data"], transient: true): DataChunk;
function dataChunk(name: "compacted" | "handoff" | "steered", data: DataChunk["data"]): DataChunk;
function dataChunk(name: string, data: DataChunk["data"], transient?: true): DataChunk {
  const chunk = { type: `data-pawl-${name}` as DataChunk["type"], data };
  return transient === undefined ? chunk : { ...chunk, transient };
}

type Named = { readonly callKey: string; readonly name: string; readonly input: unknown };

function availableCall({ callKey, name, input }: Named, known: Known): readonly UiChunk[] {
  return [
    ...begunCall(callKey, name, known),
    { type: "tool-input-available", toolCallId: callKey, toolName: name, input, dynamic: true },
  ];
}

type Question = Extract<PublicEvent, { readonly type: "approval_requested" }>;

/**
 * The input is told once more: a person who approves is shown all of it, and the call of a child session has no part in this
 * message yet.
 */
function questionChunks(event: Question, known: Known): readonly UiChunk[] {
  const { callKey, why, question, questionId, inputHash, schema, url, expiresAt } = event;
  const call = availableCall(event, known);
  if (why === "external") return call;
  known.inputs.set(callKey, event.input);
  const asked = questionChunk({ callKey, why, question, questionId, inputHash, schema, url, expiresAt }, known);
  // What a tool asks needs more than a yes or a no.
  if (why === "tool") return [...call, asked];
  return [...call, asked, { type: "tool-approval-request", approvalId: callKey, toolCallId: callKey }];
}

/** The part keeps its id, so the page has one part for each question. */
function questionChunk(data: QuestionData, known: Known): UiChunk {
  const id = questionKey(data);
  known.questions.set(id, data);
  return { type: "data-pawl-question", id, data };
}

type Answered = Extract<PublicEvent, { readonly type: "approval_answered" }>;

/** Answers after which the call runs, with the input of the answer if somebody has edited it. */
const letsRun: ReadonlySet<string> = new Set(["approve", "modify", "rerun"]);

function answeredChunks(event: Answered, known: Known): readonly UiChunk[] {
  const { callKey, name, questionId, answer, value, note, by } = event;
  const asked = known.questions.get(questionKey(event)) ?? { callKey, questionId };
  const told = questionChunk({ ...asked, answer, note, by, ...(value === undefined ? {} : { value }) }, known);
  const input = event.input ?? known.inputs.get(callKey);
  // Every page learns that the call no longer waits, whoever has answered.
  return letsRun.has(answer) && input !== undefined
    ? [...availableCall({ callKey, name, input }, known), told]
    : [told];
}

export function resultChunk(event: Extract<PublicEvent, { readonly type: "tool_result" }>): UiChunk {
  const { callKey: toolCallId, outcome, output, returned = output, isError } = event;
  if (outcome === "denied") return { type: "tool-output-denied", toolCallId };
  if (isError) return failedCall(toolCallId, textOfOutput(output));
  // As in the AI SDK, a page gets what the tool returned, whatever the model reads of it.
  return { type: "tool-output-available", toolCallId, output: shownOutput(returned), dynamic: true };
}

function finalChunks({ result }: Extract<PublicEvent, { readonly type: "final" }>): readonly UiChunk[] {
  const { status, usage, steps, sessionId } = result;
  const reason = "reason" in result ? { reason: result.reason } : {};
  const error = result.status === "failed" ? { error: result.error?.message ?? result.text } : {};
  const metadata: UiChunk = {
    type: "message-metadata",
    messageMetadata: { sessionId, status, ...reason, ...error, usage: { ...usage }, steps },
  };
  switch (result.status) {
    case "failed":
      return [metadata, { type: "error", errorText: error.error ?? result.text }];
    case "aborted":
      return [metadata, { type: "abort", reason: result.text }];
    default:
      return [metadata, { type: "finish", finishReason: "stop" }];
  }
}

/**
 * The chunks of the AI SDK's UI message stream, version 1, which `useChat` of AI SDK 6 and 7 reads.
 *
 * 1. One run is one assistant message, and the message's id is derived from the run's id.
 * 2. A call is identified by its `callKey`, which is unique in the session. Its approval has the same id.
 * 3. All tools are dynamic: the page knows them by name, not by type. `typed-tools.ts` turns the chunks of `uiTools` into typed ones.
 */
import { questionKey } from "../../core/data/call-key.js";
import type { FilePart, PendingApproval, PublicEvent, SourcePart, ToolCallPart, ToolOutput } from "../../index.js";
import type { CallChange, NotedItem, ViewChange } from "../../view/view-change.js";
import { formatOutput, toDisplayValue } from "../display-output.js";
import type { RunWaiting } from "../run-flow.js";

/** One chunk: the subset of the AI SDK's `UIMessageChunk` that Pawl writes. */
export type UiChunk =
  | { readonly type: "start"; readonly messageId: string; readonly messageMetadata?: RunMetadata }
  | { readonly type: "start-step" | "finish-step" }
  | { readonly type: "text-start" | "text-end" | "reasoning-start" | "reasoning-end"; readonly id: string }
  | { readonly type: "text-delta" | "reasoning-delta"; readonly id: string; readonly delta: string }
  | {
      readonly type: "tool-input-start";
      readonly toolCallId: string;
      readonly toolName: string;
      /** Absent if the page knows the tool by type. */
      readonly dynamic?: true;
    }
  | { readonly type: "tool-input-delta"; readonly toolCallId: string; readonly inputTextDelta: string }
  | {
      readonly type: "tool-input-available";
      readonly toolCallId: string;
      readonly toolName: string;
      readonly input: unknown;
      readonly dynamic?: true;
      readonly providerExecuted?: true;
      /** Present if the input may not fit the tool's type. Not sent to the page. */
      readonly invalid?: true;
    }
  | { readonly type: "tool-approval-request"; readonly approvalId: string; readonly toolCallId: string }
  | {
      readonly type: "tool-output-available";
      readonly toolCallId: string;
      readonly output: unknown;
      readonly dynamic?: true;
      /** Not sent to the page. */
      readonly source?: OutputSource;
      readonly preliminary?: true;
      readonly providerExecuted?: true;
    }
  | {
      readonly type: "tool-output-error";
      readonly toolCallId: string;
      readonly errorText: string;
      readonly dynamic?: true;
      readonly source?: OutputSource;
    }
  /** Replaces the input and the result of a typed tool's call if the input may not fit the type. */
  | {
      readonly type: "tool-input-error";
      readonly toolCallId: string;
      readonly toolName: string;
      readonly input: null;
      readonly errorText: string;
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

/** The tool that returned an output, and the output as the log has it. */
export type OutputSource = { readonly toolName: string | undefined; readonly output?: ToolOutput };

/** Pawl's own data parts. A transient part goes only to `onData`, and does not become part of the message. */
export type DataChunk = {
  readonly type: `data-pawl-${"retry" | "progress" | "compacted" | "handoff" | "question" | "steered"}`;
  readonly id?: string;
  readonly data: { readonly [key: string]: unknown };
  readonly transient?: true;
};

/** The metadata of the assistant message. */
export type RunMetadata = {
  readonly sessionId?: string;
  readonly status?: string;
  readonly reason?: string;
  /** Why the run failed. */
  readonly error?: string;
  readonly usage?: { readonly [count: string]: number | boolean | undefined };
  readonly steps?: number;
};

/** The content that the page already has. */
export type KnownContent = {
  /** The calls that have parts, and their tools. */
  readonly calls: Map<string, string>;
  /** The questions, by `questionKey`. */
  readonly questions: Map<string, QuestionData>;
  /** The inputs of the calls that ask, by their keys. */
  readonly inputs: Map<string, unknown>;
};

/** The part `data-pawl-question`: a question to a person, and its answer once there is one. */
export type QuestionData = {
  readonly callKey: string;
  readonly why?: PendingApproval["why"];
  readonly question?: string | undefined;
  /** An explicit answer, in the field `answers`, names the `questionId` or the `inputHash`. */
  readonly questionId?: string | undefined;
  readonly inputHash?: string | undefined;
  readonly schema?: object | undefined;
  readonly url?: string | undefined;
  /** Epoch milliseconds. */
  readonly expiresAt?: number | undefined;
  /** Present once the question is answered: `approve`, `deny`, `reply`, and so on. */
  readonly answer?: string;
  readonly value?: unknown;
  readonly note?: string | undefined;
  readonly by?: string | undefined;
};

export function createKnownContent(): KnownContent {
  return { calls: new Map(), questions: new Map(), inputs: new Map() };
}

export function toChunks(item: ViewChange | RunWaiting, known: KnownContent): readonly UiChunk[] {
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
      return item.content.type === "file" ? [toFileChunk(item.content)] : toSourceChunks(item.content);
    case "call_opened":
      return item.by?.type === "tool_call" ? toProviderCall(item.by) : startCall(item.callKey, item.name, known);
    case "call_changed":
      return toCallChunks(item.callKey, item.by, known);
    case "call_ended":
      return toEndChunks(item, known);
    case "question_opened":
      return toQuestionChunks(item.question, known);
    case "question_closed":
      return item.by === null ? [] : toAnswerChunks(item.by, known);
    case "run_ended":
      return toFinalChunks(item.by);
    case "waiting":
      return [{ type: "finish", finishReason: item.approvals.length > 0 ? "tool-calls" : "other" }];
    case "note":
      return toNoteChunks(item.item);
    case "run_started":
    case "gap":
      return [];
  }
}

function startCall(callKey: string, name: string, known: KnownContent): readonly UiChunk[] {
  if (known.calls.has(callKey)) return [];
  known.calls.set(callKey, name);
  return [{ type: "tool-input-start", toolCallId: callKey, toolName: name, dynamic: true }];
}

function createErrorChunk(
  toolCallId: string,
  errorText: string,
): Extract<UiChunk, { readonly type: "tool-output-error" }> {
  return { type: "tool-output-error", toolCallId, errorText, dynamic: true };
}

function toCallChunks(callKey: string, change: CallChange, known: KnownContent): readonly UiChunk[] {
  switch (change.type) {
    case "input_grew":
      return [{ type: "tool-input-delta", toolCallId: callKey, inputTextDelta: change.text }];
    case "call_start":
      return startCall(callKey, change.name, known);
    case "tool_call":
      return toInputChunks(change, known);
    case "preliminary": {
      const output = toDisplayValue(change.output);
      const source = { toolName: known.calls.get(callKey), output: change.output };
      return [{ type: "tool-output-available", toolCallId: callKey, output, dynamic: true, preliminary: true, source }];
    }
    case "progress":
      return [createDataChunk("progress", { callKey, note: change.note }, true)];
    case "child_started":
    case "tool_step":
    case "tool_failed":
      return [];
  }
}

function toEndChunks(
  { callKey, name, by }: Extract<ViewChange, { readonly type: "call_ended" }>,
  known: KnownContent,
): readonly UiChunk[] {
  if (by === null) return [createErrorChunk(callKey, "The model did not finish this call.")];
  if ("seq" in by) return [...startCall(callKey, name, known), toResultChunk(by)];
  if (by.isError === true) return [createErrorChunk(callKey, formatOutput(by.output))];
  const outputChunk = {
    type: "tool-output-available",
    toolCallId: callKey,
    output: toDisplayValue(by.output),
  } as const;
  return [{ ...outputChunk, dynamic: true, providerExecuted: true }];
}

function toProviderCall({ toolCallId, name: toolName, input }: ToolCallPart): readonly UiChunk[] {
  return [
    { type: "tool-input-start", toolCallId, toolName, dynamic: true },
    { type: "tool-input-available", toolCallId, toolName, input, dynamic: true, providerExecuted: true },
  ];
}

function toFileChunk({ mediaType, data }: FilePart): UiChunk {
  const url = /^(?:https?|data):/.test(data) ? data : `data:${mediaType};base64,${data}`;
  return { type: "file", mediaType, url };
}

function toSourceChunks({ id: sourceId, url, title, filename, mediaType }: SourcePart): readonly UiChunk[] {
  const titleField = title === undefined ? {} : { title };
  if (url !== undefined) return [{ type: "source-url", sourceId, url, ...titleField }];
  const file = filename === undefined ? {} : { filename };
  const text = title ?? filename ?? sourceId;
  return [
    { type: "source-document", sourceId, mediaType: mediaType ?? "application/octet-stream", title: text, ...file },
  ];
}

function toNoteChunks(item: NotedItem): readonly UiChunk[] {
  switch (item.type) {
    case "attempt_failed": {
      const { modelCallIndex, attempt, next, retryInMs } = item;
      const message = item.failure.message;
      return [createDataChunk("retry", { modelCallIndex, attempt, next, retryInMs, message }, true)];
    }
    case "restarted":
      return [createDataChunk("retry", { next: "restart" }, true)];
    case "compacted":
      return [createDataChunk("compacted", { tokensBefore: item.tokensBefore, tokensAfter: item.tokensAfter })];
    case "handed_off":
      return [createDataChunk("handoff", { from: item.from, to: item.to })];
    case "steered":
      return item.source === "user" ? [createDataChunk("steered", { input: item.input })] : [];
    default:
      // Every other event is for other consumers: the trace, the log, an author's own page.
      return [];
  }
}

function createDataChunk(name: "retry" | "progress", data: DataChunk["data"], transient: true): DataChunk;
function createDataChunk(name: "compacted" | "handoff" | "steered", data: DataChunk["data"]): DataChunk;
function createDataChunk(name: string, data: DataChunk["data"], transient?: true): DataChunk {
  const chunk = { type: `data-pawl-${name}` as DataChunk["type"], data };
  return transient === undefined ? chunk : { ...chunk, transient };
}

type NamedCall = {
  readonly callKey: string;
  readonly name: string;
  readonly input: unknown;
  readonly invalid?: true;
};

function toInputChunks({ callKey, name, input, invalid }: NamedCall, known: KnownContent): readonly UiChunk[] {
  const available = {
    type: "tool-input-available",
    toolCallId: callKey,
    toolName: name,
    input,
    dynamic: true,
  } as const;
  return [...startCall(callKey, name, known), invalid === undefined ? available : { ...available, invalid }];
}

type Question = Extract<PublicEvent, { readonly type: "approval_requested" }>;

/**
 * Sends the input again, because a person who approves must see all of it, and a child session's call has no part in this message
 * yet.
 */
function toQuestionChunks(event: Question, known: KnownContent): readonly UiChunk[] {
  const { callKey, why, question, questionId, inputHash, schema, url, expiresAt } = event;
  const call = toInputChunks(event, known);
  if (why === "external") return call;
  known.inputs.set(callKey, event.input);
  const asked = createQuestionChunk({ callKey, why, question, questionId, inputHash, schema, url, expiresAt }, known);
  // A tool's question needs more than a yes or a no.
  if (why === "tool") return [...call, asked];
  return [...call, asked, { type: "tool-approval-request", approvalId: callKey, toolCallId: callKey }];
}

/** The part keeps its id, so that the page has one part for each question. */
function createQuestionChunk(data: QuestionData, known: KnownContent): UiChunk {
  const id = questionKey(data);
  known.questions.set(id, data);
  return { type: "data-pawl-question", id, data };
}

type AnswerEvent = Extract<PublicEvent, { readonly type: "approval_answered" }>;

/** The answers after which the call runs. If the person edited the input, the answer contains it. */
const runningAnswers: ReadonlySet<string> = new Set(["approve", "modify", "rerun"]);

function toAnswerChunks(event: AnswerEvent, known: KnownContent): readonly UiChunk[] {
  const { callKey, name, questionId, answer, value, note, by } = event;
  const asked = known.questions.get(questionKey(event)) ?? { callKey, questionId };
  const answerChunk = createQuestionChunk(
    { ...asked, answer, note, by, ...(value === undefined ? {} : { value }) },
    known,
  );
  const input = event.input ?? known.inputs.get(callKey);
  // Every page must learn that the call no longer waits, whoever answered.
  return runningAnswers.has(answer) && input !== undefined
    ? [...toInputChunks({ callKey, name, input }, known), answerChunk]
    : [answerChunk];
}

export function toResultChunk(event: Extract<PublicEvent, { readonly type: "tool_result" }>): UiChunk {
  const { callKey: toolCallId, name: toolName, outcome, output, returned = output, isError } = event;
  if (outcome === "denied") return { type: "tool-output-denied", toolCallId };
  if (isError) return { ...createErrorChunk(toolCallId, formatOutput(output)), source: { toolName } };
  // As in the AI SDK, a page gets what the tool returned, even if the model gets something else.
  const source = { toolName, output: returned };
  return { type: "tool-output-available", toolCallId, output: toDisplayValue(returned), dynamic: true, source };
}

function toFinalChunks({ result }: Extract<PublicEvent, { readonly type: "final" }>): readonly UiChunk[] {
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

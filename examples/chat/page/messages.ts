/**
 * What Pawl adds to the messages of the AI SDK.
 */
import { type DynamicToolUIPart, isToolUIPart, type ToolUIPart, type UIMessage } from "ai";
import type { UiTools } from "../agent.js";

/** The part data-pawl-question. `answer` is there once somebody has answered. */
export type Question = {
  readonly callKey: string;
  readonly why: "policy" | "provider" | "recovery" | "tool";
  readonly question?: string;
  readonly questionId?: string;
  readonly inputHash?: string;
  readonly schema?: { readonly type?: string; readonly enum?: readonly string[] };
  readonly answer?: string;
  readonly note?: string;
};

export type Decision =
  | { readonly type: "approve" | "rerun" }
  | { readonly type: "deny" | "fail" | "decline"; readonly note?: string }
  | { readonly type: "modify"; readonly input: unknown }
  | { readonly type: "result"; readonly output: unknown }
  | { readonly type: "reply"; readonly value: unknown };

/** What /v1/chat takes in its field `answers`. */
export type Answer = Pick<Question, "callKey" | "inputHash" | "questionId"> & { readonly decision: Decision };

export type Metadata = {
  readonly sessionId?: string;
  readonly status?: string;
  readonly reason?: string;
  readonly error?: string;
};

export type Message = UIMessage<
  Metadata,
  {
    "pawl-question": Question;
    "pawl-progress": { readonly callKey: string; readonly note: string };
    "pawl-compacted": { readonly tokensBefore?: number; readonly tokensAfter?: number };
  },
  UiTools
>;

/** The calls of `publish` have types; those of other tools are dynamic. */
export type ToolCall = DynamicToolUIPart | ToolUIPart<UiTools>;

const over: ReadonlySet<string> = new Set(["output-available", "output-error", "output-denied"]);

/** Whether the call has its result. */
export function isOver(call: ToolCall): boolean {
  return over.has(call.state) && !("preliminary" in call && call.preliminary === true);
}

/** The questions of a call that nobody has answered. */
export function openQuestions({ parts }: Message, call: ToolCall): readonly Question[] {
  if (isOver(call)) return [];
  return parts.flatMap((part) =>
    part.type === "data-pawl-question" && part.data.callKey === call.toolCallId && part.data.answer === undefined
      ? [part.data]
      : [],
  );
}

/** Whether the question of this answer is still open. */
export function isOpen(message: Message | undefined, { callKey, questionId }: Answer): boolean {
  return unfinishedCalls(message).some(
    ({ toolCallId, questions }) =>
      toolCallId === callKey && questions.some((question) => question.questionId === questionId),
  );
}

/** Whether the run of this message has not ended. */
export function isUnderWay(message: Message | undefined): boolean {
  return message?.role === "assistant" && message.metadata?.status === undefined;
}

export function isWaiting(message: Message | undefined): boolean {
  return unfinishedCalls(message).some(({ questions }) => questions.length > 0);
}

/** Whether nothing happens until somebody answers: each call without a result waits. */
export function onlyWaits(message: Message | undefined): boolean {
  const calls = unfinishedCalls(message);
  return calls.length > 0 && calls.every(({ questions }) => questions.length > 0);
}

/** The calls without a result, each with the questions that nobody has answered. */
function unfinishedCalls(message: Message | undefined) {
  if (message === undefined) return [];
  return message.parts
    .filter((part): part is ToolCall => isToolUIPart(part))
    .filter((call) => !isOver(call))
    .map((call) => ({ toolCallId: call.toolCallId, questions: openQuestions(message, call) }));
}

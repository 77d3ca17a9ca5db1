/**
 * The AI SDK's chat over durable sessions: handles the requests of `useChat`'s transport, and streams the chunks that it reads.
 *
 * 1. The id of the user's message is the id of the run. So a repeated request does not start a second run.
 * 2. An answer applies only to the input that the person saw.
 */
import { questionKey } from "../../core/data/call-key.js";
import { type ApprovalDecision, PawlError, type PendingApproval } from "../../index.js";
import { answerRun, findRun, type PostableSession, startRun } from "../run-cursors.js";
import { type ChatAnswer, type ChatBody, type ExplicitAnswer, parseChatRequest } from "./chat-request.js";
import type { KnownContent, UiChunk } from "./chunks.js";
import { streamChunks } from "./run-chunks.js";

export type ChatOptions = {
  /** The person, whom the log records as the author of answers. */
  readonly by: string;
  readonly signal: AbortSignal;
};

/**
 * Handles a page's request to the session of its chat, and returns the chunks of the reply.
 * @throws PawlError `bad_input`, `no_session`, `no_such_call`
 */
export async function postChat(
  body: ChatBody,
  session: PostableSession,
  { by, signal }: ChatOptions,
): Promise<AsyncGenerator<UiChunk, void, undefined>> {
  const request = parseChatRequest(body);
  if (request.type === "message")
    return streamChunks(session, { ...(await startRun(session, request.input, request.runId)), signal });
  const { answers, known, unsettled } = request;
  const flow = await answerRun(
    session,
    answers,
    (answer, waiting) => waiting.find((approval) => isAnswerTo(answer, approval, known)),
    (answer, approval) =>
      answer.type === "own" ? sendExplicitAnswer(session, answer, by) : sendAnswer(session, answer, approval, by),
  );
  return streamChunks(session, { ...flow, known, unsettled, signal });
}

function isAnswerTo(
  answer: ChatAnswer | ExplicitAnswer,
  approval: PendingApproval,
  { questions }: KnownContent,
): boolean {
  if (answer.callKey !== approval.callKey) return false;
  if (answer.type === "own") return answer.questionId === approval.questionId;
  if (approval.why !== "tool") return true;
  // The call's part does not name the question that it answers, so it answers the one that the page shows.
  const shown = questions.get(questionKey(approval));
  return shown !== undefined && shown.answer === undefined;
}

/** Streams an unfinished run from its start, for a page that lost its stream. */
export async function resumeChat(
  session: PostableSession,
  runId: string,
  signal: AbortSignal,
): Promise<AsyncGenerator<UiChunk, void, undefined>> {
  return streamChunks(session, { ...(await findRun(session, runId)), signal });
}

async function sendAnswer(
  session: PostableSession,
  answer: ChatAnswer,
  approval: PendingApproval,
  by: string,
): Promise<void> {
  const { callKey } = answer;
  if (!isEqualJson(answer.input, approval.input))
    throw new PawlError(
      "bad_input",
      `The answer to the call ${callKey} is for an outdated input. Load the messages again, then answer.`,
    );
  if (approval.why === "external" && answer.type === "result") {
    await session.provideResult(callKey, answer.output);
    return;
  }
  if (approval.why === "external" && answer.type === "failure") {
    await session.provideResult(callKey, answer.message, { isError: true });
    return;
  }
  const { inputHash, questionId } = approval;
  await session.answer(callKey, toDecision(answer, approval), {
    by,
    ...(inputHash === undefined ? {} : { inputHash }),
    ...(questionId === undefined ? {} : { questionId }),
  });
}

async function sendExplicitAnswer(session: PostableSession, answer: ExplicitAnswer, by: string): Promise<void> {
  const { type: _, callKey, decision, ...shownIds } = answer;
  await session.answer(callKey, decision, { by, ...shownIds });
}

/**
 * Converts the page's yes, no, output or error to a decision. For an interrupted call, a yes runs it again, a no fails it,
 * and an output is its result. For a call whose tool asks a question, an output is the reply.
 */
function toDecision(answer: ChatAnswer, { why }: PendingApproval): ApprovalDecision {
  const isRecovery = why === "recovery";
  switch (answer.type) {
    case "approve":
      return { type: isRecovery ? "rerun" : "approve" };
    case "deny": {
      const note = answer.note === undefined ? {} : { note: answer.note };
      return { type: isRecovery ? "fail" : why === "tool" ? "decline" : "deny", ...note };
    }
    case "result":
      return why === "tool" ? { type: "reply", value: answer.output } : { type: "result", output: answer.output };
    case "failure":
      return { type: why === "tool" ? "decline" : "fail", note: answer.message };
  }
}

/** Whether two JSON values are equal, regardless of the order of keys. */
function isEqualJson(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const leftEntries = Object.entries(a);
  const rightEntries = new Map(Object.entries(b));
  return (
    leftEntries.length === rightEntries.size &&
    leftEntries.every(([key, value]) => rightEntries.has(key) && isEqualJson(value, rightEntries.get(key)))
  );
}

/**
 * The AI SDK's chat, served from durable sessions: what the transport of `useChat` posts and reads.
 *
 * 1. The id of the user's message is the id of the run. So a request that is sent again starts no second run.
 * 2. An answer counts for the input that the person saw.
 */
import { type ApprovalDecision, PawlError, type PendingApproval } from "../../index.js";
import { questionKey } from "../../view/view-change.js";
import { answerRun, type PostedSession, placeOfRun, sendRun } from "../run-places.js";
import { type ChatAnswer, type ChatBody, chatRequest, type OwnAnswer } from "./chat-request.js";
import type { Known, UiChunk } from "./chunks.js";
import { runChunks } from "./run-chunks.js";

export type ChatOptions = {
  /** Who answers. The log records it. */
  readonly by: string;
  readonly signal: AbortSignal;
};

/**
 * Carries out what a page posted to the session of its chat, and gives the chunks of its answer.
 * @throws PawlError `bad_input`, `no_session`, `no_such_call`
 */
export async function postChat(
  body: ChatBody,
  session: PostedSession,
  { by, signal }: ChatOptions,
): Promise<AsyncGenerator<UiChunk, void, undefined>> {
  const request = chatRequest(body);
  if (request.type === "message")
    return runChunks(session, { ...(await sendRun(session, request.input, request.runId)), signal });
  const { answers, known, unsettled } = request;
  const flow = await answerRun(
    session,
    answers,
    (answer, waiting) => waiting.find((asked) => isFor(answer, asked, known)),
    (answer, asked) => (answer.type === "own" ? giveOwn(session, answer, by) : giveAnswer(session, answer, asked, by)),
  );
  return runChunks(session, { ...flow, known, unsettled, signal });
}

function isFor(answer: ChatAnswer | OwnAnswer, asked: PendingApproval, { questions }: Known): boolean {
  if (answer.callKey !== asked.callKey) return false;
  if (answer.type === "own") return answer.questionId === asked.questionId;
  if (asked.why !== "tool") return true;
  // The part of the call does not say which question it answers: the one that the page shows.
  const shown = questions.get(questionKey(asked));
  return shown !== undefined && shown.answer === undefined;
}

/** A run that has not ended, whole, for a page that lost its stream. */
export async function resumeChat(
  session: PostedSession,
  runId: string,
  signal: AbortSignal,
): Promise<AsyncGenerator<UiChunk, void, undefined>> {
  return runChunks(session, { ...(await placeOfRun(session, runId)), signal });
}

async function giveAnswer(
  session: PostedSession,
  answer: ChatAnswer,
  asked: PendingApproval,
  by: string,
): Promise<void> {
  const { callKey } = answer;
  if (!isEqualJson(answer.input, asked.input))
    throw new PawlError(
      "bad_input",
      `The answer to the call ${callKey} is to another input than the one that waits. Load the messages again.`,
    );
  if (asked.why === "external" && answer.type === "result") {
    await session.provideResult(callKey, answer.output);
    return;
  }
  if (asked.why === "external" && answer.type === "failure") {
    await session.provideResult(callKey, answer.message, { isError: true });
    return;
  }
  const { inputHash, questionId } = asked;
  await session.answer(callKey, decisionOf(answer, asked), {
    by,
    ...(inputHash === undefined ? {} : { inputHash }),
    ...(questionId === undefined ? {} : { questionId }),
  });
}

async function giveOwn(session: PostedSession, answer: OwnAnswer, by: string): Promise<void> {
  const { type: _, callKey, decision, ...seen } = answer;
  await session.answer(callKey, decision, { by, ...seen });
}

/**
 * What the page's yes, no, output or error says to what is asked. Nobody knows whether a call in doubt has run: a yes runs
 * it again, a no fails it, and an output is what it gave. An output of a call whose tool asks is the reply.
 */
function decisionOf(answer: ChatAnswer, { why }: PendingApproval): ApprovalDecision {
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

/** Whether two JSON values say the same, in whatever order their keys come. */
function isEqualJson(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const left = Object.entries(a);
  const right = new Map(Object.entries(b));
  return (
    left.length === right.size && left.every(([key, value]) => right.has(key) && isEqualJson(value, right.get(key)))
  );
}

/**
 * The AI SDK's chat, served from durable sessions: what the transport of `useChat` posts and reads.
 *
 * 1. The id of the user's message is the id of the run. So a request that is sent again starts no second run.
 * 2. An answer counts for the input that the person saw.
 */
import { PawlError, type PendingApproval } from "../../index.js";
import { answerRun, type PostedSession, presentRun, sendRun } from "../run-places.js";
import { type ChatAnswer, type ChatBody, chatRequest } from "./chat-request.js";
import type { UiChunk } from "./chunks.js";
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
  const { answers, known } = request;
  const flow = await answerRun(
    session,
    answers,
    ({ callKey }, waiting) => waiting.find((one) => one.callKey === callKey),
    (answer, asked) => giveAnswer(session, answer, asked, by),
  );
  return runChunks(session, { ...flow, known, signal });
}

/** The run that is under way or waits, whole, for a page that lost its stream; null if there is none. */
export async function resumeChat(
  session: PostedSession,
  signal: AbortSignal,
): Promise<AsyncGenerator<UiChunk, void, undefined> | null> {
  const place = await presentRun(session);
  return place === null ? null : runChunks(session, { ...place, signal });
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
  const options = { by, ...(asked.inputHash === undefined ? {} : { inputHash: asked.inputHash }) };
  switch (answer.type) {
    case "approve":
      await session.answer(callKey, { type: "approve" }, options);
      return;
    case "deny": {
      const note = answer.note === undefined ? {} : { note: answer.note };
      await session.answer(callKey, { type: "deny", ...note }, options);
      return;
    }
    case "result":
      await session.provideResult(callKey, answer.output);
      return;
    case "failure":
      await session.provideResult(callKey, answer.message, { isError: true });
      return;
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

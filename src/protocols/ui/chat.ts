/**
 * The AI SDK's chat, served from durable sessions: what the transport of `useChat` posts and reads.
 *
 * 1. The id of the user's message is the id of the run. So a request that is sent again starts no second run.
 * 2. An answer counts for the input that the person saw.
 */
import { PawlError, type PendingApproval } from "../../index.js";
import { afterAnswer, type PostedSession, presentRun, runOf, sendRun } from "../run-places.js";
import { type ChatAnswer, type ChatRequest, chatRequest } from "./chat-request.js";
import type { UiChunk } from "./chunks.js";
import { runChunks } from "./run-chunks.js";

export type ChatHost = {
  /** The session of a chat. The page chooses the id of the chat: whoever serves it decides which session that is. */
  readonly sessionOf: (chatId: string, agent: string | undefined) => PostedSession;
  /** Goes on with a session whose calls were answered. It does not wait for the run. */
  readonly carryOn: (sessionId: string) => void;
  /** Who answers. The log records it. */
  readonly by?: string;
};

/**
 * Carries out what a page posted, and gives the chunks of its answer.
 * @throws PawlError `bad_input`, `no_session`, `no_such_call`
 */
export async function postChat(
  body: unknown,
  host: ChatHost,
  signal?: AbortSignal,
): Promise<AsyncGenerator<UiChunk, void, undefined>> {
  const request = chatRequest(body);
  const session = host.sessionOf(request.chatId, request.agent);
  const beside = signal === undefined ? {} : { signal };
  if (request.type === "message")
    return runChunks(session, { ...(await sendRun(session, request.input, request.runId)), ...beside });
  return answered(session, request, host, beside);
}

/** The run that is under way or waits, whole, for a page that lost its stream; null if there is none. */
export async function resumeChat(
  session: PostedSession,
  signal?: AbortSignal,
): Promise<AsyncGenerator<UiChunk, void, undefined> | null> {
  const place = await presentRun(session);
  return place === null ? null : runChunks(session, { ...place, ...(signal === undefined ? {} : { signal }) });
}

async function answered(
  session: PostedSession,
  { answers, known }: Extract<ChatRequest, { readonly type: "answers" }>,
  host: ChatHost,
  beside: { readonly signal?: AbortSignal },
): Promise<AsyncGenerator<UiChunk, void, undefined>> {
  const { seq } = await session.state();
  const waiting = new Map((await session.pendingApprovals()).map((one) => [one.callKey, one]));
  const given = new Set<string>();
  let runId: string | undefined;
  for (const answer of answers) {
    const asked = waiting.get(answer.callKey);
    if (asked === undefined) continue;
    await giveAnswer(session, answer, asked, host.by);
    given.add(answer.callKey);
    runId ??= await runOf(session, asked);
  }
  if (runId === undefined) {
    const place = await afterAnswer(session, new Set(answers.map(({ callKey }) => callKey)));
    return runChunks(session, { ...place, known, ...beside });
  }
  host.carryOn(session.id);
  return runChunks(session, { runId, after: seq, known, answered: given, ...beside });
}

async function giveAnswer(
  session: PostedSession,
  answer: ChatAnswer,
  asked: PendingApproval,
  by: string | undefined,
): Promise<void> {
  const { callKey } = answer;
  if (!isEqualJson(answer.input, asked.input))
    throw new PawlError(
      "bad_input",
      `The answer to the call ${callKey} is to another input than the one that waits. Load the messages again.`,
    );
  const options = {
    ...(by === undefined ? {} : { by }),
    ...(asked.inputHash === undefined ? {} : { inputHash: asked.inputHash }),
  };
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

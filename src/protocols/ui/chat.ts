/**
 * The AI SDK's chat, served from durable sessions: what the transport of `useChat` posts and reads.
 *
 * 1. The id of the user's message is the id of the run. So a request that is sent again starts no second run.
 * 2. An answer counts for the input that the person saw.
 */
import { PawlError, type PendingApproval, type Session } from "../../index.js";
import { type ChatAnswer, type ChatRequest, chatRequest } from "./chat-request.js";
import type { UiChunk } from "./chunks.js";
import { messageIdOf, othersWaiting, runChunks } from "./run-chunks.js";

/** A session as the chat uses it. */
export type ChatSession = Pick<
  Session,
  "id" | "send" | "events" | "state" | "answer" | "provideResult" | "pendingApprovals"
>;

export type ChatHost = {
  /** The session of a chat. The page chooses the id of the chat: whoever serves it decides which session that is. */
  readonly sessionOf: (chatId: string, agent: string | undefined) => ChatSession;
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
  if (request.type === "message") {
    const before = await seqOf(session);
    const { isNew } = await session.send(request.input, { runId: request.runId });
    const after = isNew ? before : await startOf(session, request.runId);
    return runChunks(session, { runId: request.runId, after, ...beside });
  }
  return answered(session, request, host, beside);
}

/** The run that is under way or waits, whole, for a page that lost its stream; null if there is none. */
export async function resumeChat(
  session: ChatSession,
  signal?: AbortSignal,
): Promise<AsyncGenerator<UiChunk, void, undefined> | null> {
  const state = await session.state();
  switch (state.status) {
    case "idle":
    case "completed":
    case "failed":
    case "aborted":
      return null;
    default: {
      const beside = signal === undefined ? {} : { signal };
      return runChunks(session, { runId: state.runId, after: state.startSeq - 1, ...beside });
    }
  }
}

async function seqOf(session: ChatSession): Promise<number> {
  try {
    return (await session.state()).seq;
  } catch (error) {
    if (error instanceof PawlError && error.code === "no_session") return 0;
    throw error;
  }
}

/** The entry before the run. A run that is queued has not begun: it is behind everything. */
async function startOf(session: ChatSession, runId: string): Promise<number> {
  const state = await session.state();
  if ("startSeq" in state && state.runId === runId) return state.startSeq - 1;
  for await (const event of session.events({ follow: false }))
    if (event.type === "run_started" && event.runId === runId) return event.seq - 1;
  return state.seq;
}

async function answered(
  session: ChatSession,
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
  const others = await othersWaiting(session, given);
  if (others.length > 0) return stillWaiting(runId);
  return runChunks(session, { runId, after: seq, known, answered: given, ...beside });
}

/** A child's question is answered here; the run that waits is this session's own. */
async function runOf(session: ChatSession, asked: PendingApproval): Promise<string> {
  if (asked.sessionId === session.id) return asked.runId;
  const state = await session.state();
  return "runId" in state ? state.runId : asked.runId;
}

async function giveAnswer(
  session: ChatSession,
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

/** Everything was answered before, by this page or by somebody else: the page gets what followed the first answer. */
async function afterAnswer(
  session: ChatSession,
  keys: ReadonlySet<string>,
): Promise<{ readonly runId: string; readonly after: number }> {
  const state = await session.state();
  if (state.status === "idle") throw new PawlError("no_such_call", `No call of session ${session.id} waits.`);
  const { runId, startSeq, seq } = state;
  for await (const event of session.events({ after: startSeq - 1, follow: false }))
    if (event.type === "approval_answered" && keys.has(event.callKey)) return { runId, after: event.seq - 1 };
  // The answer is posted, and nobody has taken it yet.
  return { runId, after: seq };
}

async function* stillWaiting(runId: string): AsyncGenerator<UiChunk, void, undefined> {
  yield { type: "start", messageId: messageIdOf(runId) };
  yield { type: "finish", finishReason: "tool-calls" };
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

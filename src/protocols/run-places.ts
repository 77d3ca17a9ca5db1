/**
 * Where in the log a run is to be read from, for those who post and then watch.
 */
import { PawlError, type PendingApproval, type Session } from "../index.js";
import type { RunPlace } from "./run-flow.js";

/** A session that is posted to, and watched. */
export type PostedSession = Pick<
  Session,
  "id" | "send" | "events" | "state" | "answer" | "provideResult" | "pendingApprovals"
>;

/** Sends input, and tells where its run is read from. A request that is sent again starts no second run. */
export async function sendRun(
  session: PostedSession,
  input: Parameters<Session["send"]>[0],
  runId: string,
): Promise<RunPlace> {
  const before = await seqOf(session);
  const { isNew } = await session.send(input, { runId });
  return { runId, after: isNew ? before : await startOf(session, runId) };
}

/** The run that is under way or waits, from its start; null if there is none. */
export async function presentRun(session: PostedSession): Promise<RunPlace | null> {
  const state = await session.state();
  switch (state.status) {
    case "idle":
    case "completed":
    case "failed":
    case "aborted":
      return null;
    default:
      return { runId: state.runId, after: state.startSeq - 1 };
  }
}

async function seqOf(session: PostedSession): Promise<number> {
  try {
    return (await session.state()).seq;
  } catch (error) {
    if (error instanceof PawlError && error.code === "no_session") return 0;
    throw error;
  }
}

/** The entry before the run. A run that is queued has not begun: it is behind everything. */
async function startOf(session: PostedSession, runId: string): Promise<number> {
  const state = await session.state();
  if ("startSeq" in state && state.runId === runId) return state.startSeq - 1;
  for await (const event of session.events({ follow: false }))
    if (event.type === "run_started" && event.runId === runId) return event.seq - 1;
  return state.seq;
}

/**
 * What followed the first answer to one of these calls, for a page that posts its answers once more.
 * @throws PawlError `no_such_call`
 */
export async function afterAnswer(session: PostedSession, keys: ReadonlySet<string>): Promise<RunPlace> {
  const state = await session.state();
  if (state.status === "idle") throw new PawlError("no_such_call", `No call of session ${session.id} waits.`);
  const { runId, startSeq, seq } = state;
  for await (const event of session.events({ after: startSeq - 1, follow: false }))
    if (event.type === "approval_answered" && keys.has(event.callKey)) return { runId, after: event.seq - 1 };
  // The answer is posted, and nobody has taken it yet.
  return { runId, after: seq };
}

/** The run of this session that waits. The question of a child session is answered here, too. */
export async function runOf(session: PostedSession, asked: PendingApproval): Promise<string> {
  if (asked.sessionId === session.id) return asked.runId;
  const state = await session.state();
  return "runId" in state ? state.runId : asked.runId;
}

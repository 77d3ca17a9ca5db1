/**
 * Finds the cursors from which to read a run, for clients that post a request and then watch.
 */
import { questionKey } from "../core/data/call-key.js";
import { PawlError, type PendingApproval, type SendOptions, type Session } from "../index.js";
import type { RunCursor, RunFlowOptions } from "./run-flow.js";

/** A session that accepts requests and can be watched. */
export type PostableSession = Pick<
  Session,
  "id" | "send" | "events" | "state" | "result" | "answer" | "provideResult" | "pendingApprovals"
> & {
  /** The session as the server has just read it: its last entry, and whether it is at rest. If absent, it is read on demand. */
  readonly seen?: { readonly seq: number; readonly isResting: boolean };
};

/** Sends input, and returns the cursor of its run. A repeated request does not start a second run. */
export async function startRun(
  session: PostableSession,
  input: Parameters<Session["send"]>[0],
  runId: string,
  options: Pick<SendOptions, "traceparent"> = {},
): Promise<RunCursor & { readonly isNew: boolean }> {
  const seqBefore = session.seen?.seq ?? (await readSeq(session));
  const { isNew } = await session.send(input, { ...options, runId });
  if (!isNew) return { runId, isNew, after: await findRunStart(session, runId) };
  // A queued run has no event while a call of the previous run waits for a person.
  return { runId, isNew, after: seqBefore, hasEventAhead: session.seen?.isResting === true };
}

/** The start of the run with this id, or else of the current or last run, for clients that lost its stream. */
export async function joinRun(session: PostableSession, runId: string): Promise<RunCursor> {
  const state = await session.state();
  if (!("startSeq" in state))
    throw new PawlError("bad_input", `Session ${session.id} has no run yet. Send a message first.`);
  if (state.runId !== runId)
    for await (const event of session.events({ follow: false }))
      if (event.type === "run_started" && event.runId === runId) return { runId, after: event.seq - 1 };
  return { runId: state.runId, after: state.startSeq - 1 };
}

/** The start of an unfinished run. A run that is not in the log yet begins after the last entry. */
export async function findRun(session: PostableSession, runId: string): Promise<RunCursor> {
  return { runId, after: await findRunStart(session, runId) };
}

/** The start of the run that is in progress or waits; null if there is none. */
export async function findCurrentRun(session: PostableSession): Promise<RunCursor | null> {
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

async function readSeq(session: PostableSession): Promise<number> {
  try {
    return (await session.state()).seq;
  } catch (error) {
    if (error instanceof PawlError && error.code === "no_session") return 0;
    throw error;
  }
}

/** The entry before the run. A queued run has not begun, so it will come after the last entry. */
async function findRunStart(session: PostableSession, runId: string): Promise<number> {
  const state = await session.state();
  if ("startSeq" in state && state.runId === runId) return state.startSeq - 1;
  for await (const event of session.events({ follow: false }))
    if (event.type === "run_started" && event.runId === runId) return event.seq - 1;
  return state.seq;
}

/** An answer to a call, in the format of a protocol. */
export type CallAnswer = { readonly callKey: string };

/**
 * Sends the answers to the waiting calls, and returns the cursor from which to read the run. If none of the calls is still
 * waiting, the page has posted its answers again, and it gets everything since the first of them.
 * @param findApproval finds the call that an answer is for
 * @throws PawlError `no_such_call`, `bad_input`
 */
export async function answerRun<Answer extends CallAnswer>(
  session: PostableSession,
  answers: readonly Answer[],
  findApproval: (answer: Answer, waiting: readonly PendingApproval[]) => PendingApproval | undefined,
  sendAnswer: (answer: Answer, approval: PendingApproval) => Promise<unknown>,
): Promise<RunFlowOptions> {
  const { seq: after } = await session.state();
  const waiting = await session.pendingApprovals();
  const answered = new Set<string>();
  let runId: string | undefined;
  for (const answer of answers) {
    const approval = findApproval(answer, waiting);
    if (approval === undefined) continue;
    await sendAnswer(answer, approval);
    answered.add(questionKey(approval));
    runId ??= await findRunId(session, approval);
  }
  if (runId === undefined) return findAnswer(session, new Set(answers.map(({ callKey }) => callKey)));
  return { runId, after, answered };
}

/**
 * The cursor of the first answer to one of these calls, for a page that posts its answers again.
 * @throws PawlError `no_such_call`
 */
async function findAnswer(session: PostableSession, keys: ReadonlySet<string>): Promise<RunCursor> {
  const state = await session.state();
  if (state.status === "idle") throw new PawlError("no_such_call", `Session ${session.id} has no waiting call.`);
  const { runId, startSeq, seq } = state;
  for await (const event of session.events({ after: startSeq - 1, follow: false }))
    if (event.type === "approval_answered" && keys.has(event.callKey)) return { runId, after: event.seq - 1 };
  // The answer is still in the inbox.
  return { runId, after: seq };
}

/** Finds the run of this session that waits. An approval of a child session belongs to the run of this session. */
async function findRunId(session: PostableSession, approval: PendingApproval): Promise<string> {
  if (approval.sessionId === session.id) return approval.runId;
  const state = await session.state();
  return "runId" in state ? state.runId : approval.runId;
}

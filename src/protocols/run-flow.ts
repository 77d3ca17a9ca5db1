/**
 * Streams one run from a cursor to its end, or until the run only waits: for decisions, a time or a signal.
 *
 * 1. The stream ends at a `suspended` event only while the session still waits. An outdated `suspended` is skipped.
 * 2. The point where the stream ends is in the log, so a reader that joins later gets the same items.
 */

import { questionKey } from "../core/data/call-key.js";
import type { PendingApproval, RunWait, Session, StreamItem } from "../index.js";
import { formatCursor } from "../stream/cursor.js";
import { createSessionView } from "../view/session-view.js";
import type { ViewChange } from "../view/view-change.js";

/** The methods that read a session. */
export type ReadableSession = Pick<Session, "id" | "events" | "pendingApprovals" | "state" | "result">;

/** A run, and the cursor from which to read it. */
export type RunCursor = {
  readonly runId: string;
  /** The cursor after which the run is read: `seq`, or `seq.index`. */
  readonly after: number | string;
  /** Whether the run is known to have an event after the cursor that ends the stream. Default: the log is read to find out. */
  readonly hasEventAhead?: boolean;
};

export type RunFlowOptions = RunCursor & {
  /** The questions that have just been answered, by `questionKey`. They count as no longer waiting. */
  readonly answered?: ReadonlySet<string>;
  readonly signal?: AbortSignal;
};

/** The last item of the stream of a run that has not ended: what the run waits for. */
export type RunWaiting = {
  readonly type: "waiting";
  /** The waiting calls. Empty if no person is asked. */
  readonly approvals: readonly PendingApproval[];
  /** The sleeps and waits for signals. Empty if a person is asked. */
  readonly waits: readonly RunWait[];
};

/** The last item is the end of the run, or `waiting`. */
export async function* streamRun(
  session: ReadableSession,
  { runId, after, hasEventAhead: isKnown = false, answered = noAnswers, signal }: RunFlowOptions,
): AsyncGenerator<ViewChange | RunWaiting, void, undefined> {
  const view = createSessionView();
  const waiting = isKnown ? nothing : await listWaiting(session, answered);
  // If no question is asked or answered after this cursor, no event will show that the run waits.
  const hasEventAhead = !isStopped(waiting) || answered.size > 0 || (await suspendsAgain(session, runId, after));
  const options = hasEventAhead ? { after, ...(signal === undefined ? {} : { signal }) } : { after, follow: false };
  for await (const item of session.events(options)) {
    if (!matchesRunOrCall(item, runId)) continue;
    const stopped = await findWaiting(session, item, runId, answered);
    yield* view.apply(item);
    if (stopped !== null) return yield stopped;
    if (item.type === "final") return;
  }
  if (!hasEventAhead) yield waiting;
}

const noAnswers: ReadonlySet<string> = new Set();
const nothing: RunWaiting = { type: "waiting", approvals: [], waits: [] };

/** Matches by the item's run, or else by the run of its call. An item with neither belongs to the session, and so to each of its runs. */
function matchesRunOrCall(item: StreamItem, runId: string): boolean {
  if (item.type === "delta") return item.delta.runId === runId;
  if ("runId" in item && item.runId !== undefined) return item.runId === runId;
  return item.type === "late_result" || !("callKey" in item) || item.callKey.startsWith(`${runId}/`);
}

/** The waiting calls, without the ones that have just been answered. */
export async function listOpenApprovals(
  session: ReadableSession,
  answered: ReadonlySet<string>,
): Promise<readonly PendingApproval[]> {
  return (await session.pendingApprovals()).filter((candidate) => !answered.has(questionKey(candidate)));
}

/** The open questions and waits of the session. A queued run waits along with the current one. */
async function listWaiting(session: ReadableSession, answered: ReadonlySet<string>): Promise<RunWaiting> {
  const approvals = await listOpenApprovals(session, answered);
  return { type: "waiting", approvals, waits: approvals.length === 0 ? await listWaits(session) : [] };
}

function isStopped({ approvals, waits }: RunWaiting): boolean {
  return approvals.length > 0 || waits.length > 0;
}

/** The sleeps and waits for signals that have stopped the current run; empty if it continues. Short ones do not stop a run. */
async function listWaits(session: ReadableSession): Promise<readonly RunWait[]> {
  const state = await session.state();
  // Checked first, because the result of a run costs a read of its log.
  if (state.status !== "tool_running" || state.parkedSince === undefined) return [];
  const result = await session.result();
  return result?.status === "waiting" ? result.waits : [];
}

/** What the run waits for, if it has only waited since this item; otherwise null. */
async function findWaiting(
  session: ReadableSession,
  item: StreamItem,
  runId: string,
  answered: ReadonlySet<string>,
): Promise<RunWaiting | null> {
  // If one of several calls is denied, the run keeps waiting, and no other event shows it.
  const isAnswer = item.type === "approval_answered" || item.type === "tool_result";
  if (item.type !== "suspended" && !(isAnswer && answered.has(questionKey(item)))) return null;
  // The order of the two reads matters: a call that waits again after the first read has a later event.
  const { status } = await session.state();
  const waiting = await listWaiting(session, answered);
  if (!isStopped(waiting) || (waiting.approvals.length > 0 && status !== "awaiting_human")) return null;
  const isOver =
    item.type === "suspended" &&
    item.approvals.length > 0 &&
    !item.approvals.some((candidate) => includesApproval(waiting.approvals, candidate));
  // If the run was suspended again later, the stream ends there.
  return isOver || (await suspendsAgain(session, runId, formatCursor(item))) ? null : waiting;
}

function includesApproval(waiting: readonly PendingApproval[], approval: PendingApproval): boolean {
  return waiting.some((candidate) => questionKey(candidate) === questionKey(approval));
}

async function suspendsAgain(session: ReadableSession, runId: string, after: number | string): Promise<boolean> {
  for await (const laterEvent of session.events({ after, follow: false }))
    if (laterEvent.type === "suspended" && laterEvent.runId === runId) return true;
  return false;
}

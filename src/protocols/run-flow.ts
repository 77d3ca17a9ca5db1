/**
 * The flow of one run, from a cursor to the run's end, or until the run only waits: for decisions, a time or a signal.
 *
 * 1. The flow ends at `suspended` only while the session still waits. A `suspended` that is over by now is skipped.
 * 2. The point where the flow ends is in the log, so a reader that joins later gets the same.
 */

import type { PendingApproval, RunWait, Session, StreamItem } from "../index.js";
import { formatCursor } from "../stream/cursor.js";
import { createSessionView } from "../view/session-view.js";
import { questionKey, type ViewChange } from "../view/view-change.js";

/** The reading side of a session. */
export type ReadableSession = Pick<Session, "id" | "events" | "pendingApprovals" | "state" | "result">;

/** A run, and the cursor from which to read it. */
export type RunCursor = {
  readonly runId: string;
  /** The cursor after which the run is read: `seq`, or `seq.index`. */
  readonly after: number | string;
  /** Whether the run is known to have an event after the cursor: its end, or that it waits. Default: that is read. */
  readonly hasEventAhead?: boolean;
};

export type RunFlowOptions = RunCursor & {
  /** The questions that have just been answered, by `questionKey`: they no longer wait. */
  readonly answered?: ReadonlySet<string>;
  readonly signal?: AbortSignal;
};

/** The last item of a flow if the run has not ended: what it waits for. */
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
  // If nothing is asked or answered after this cursor, no event will show that the run waits.
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

/** By the run of an item, or else the run of its call. An item with neither belongs to the session, so to each of its runs. */
function matchesRunOrCall(item: StreamItem, runId: string): boolean {
  if (item.type === "delta") return item.delta.runId === runId;
  if ("runId" in item && item.runId !== undefined) return item.runId === runId;
  return item.type === "late_result" || !("callKey" in item) || item.callKey.startsWith(`${runId}/`);
}

/** The waiting calls without those that have just been answered. */
export async function listOpenApprovals(
  session: ReadableSession,
  answered: ReadonlySet<string>,
): Promise<readonly PendingApproval[]> {
  return (await session.pendingApprovals()).filter((candidate) => !answered.has(questionKey(candidate)));
}

/** What the session waits for. A run that is queued behind the current one waits with it. */
async function listWaiting(session: ReadableSession, answered: ReadonlySet<string>): Promise<RunWaiting> {
  const approvals = await listOpenApprovals(session, answered);
  return { type: "waiting", approvals, waits: approvals.length === 0 ? await listWaits(session) : [] };
}

function isStopped({ approvals, waits }: RunWaiting): boolean {
  return approvals.length > 0 || waits.length > 0;
}

/** The sleeps and waits for signals of the current run; empty if it goes on. Short ones do not stop a run. */
async function listWaits(session: ReadableSession): Promise<readonly RunWait[]> {
  const state = await session.state();
  // The result of a run costs a read of its log.
  if (state.status !== "tool_running" || state.parkedSince === undefined) return [];
  const result = await session.result();
  return result?.status === "waiting" ? result.waits : [];
}

/** What the run waits for, if it has done nothing but wait since this item; else null. */
async function findWaiting(
  session: ReadableSession,
  item: StreamItem,
  runId: string,
  answered: ReadonlySet<string>,
): Promise<RunWaiting | null> {
  // After a denial of one of several calls, the run keeps waiting, and no other event shows that.
  const isAnswer = item.type === "approval_answered" || item.type === "tool_result";
  if (item.type !== "suspended" && !(isAnswer && answered.has(questionKey(item)))) return null;
  // The order matters: a call that waits again by now has a later event.
  const { status } = await session.state();
  const waiting = await listWaiting(session, answered);
  if (!isStopped(waiting) || (waiting.approvals.length > 0 && status !== "awaiting_human")) return null;
  const isOver =
    item.type === "suspended" &&
    item.approvals.length > 0 &&
    !item.approvals.some((candidate) => includesApproval(waiting.approvals, candidate));
  // The run was suspended again later: the flow ends there.
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

/**
 * The flow of one run, from a place of the log to the run's end, or until it waits for somebody and does nothing else.
 *
 * 1. The flow ends at `suspended` only while the session still waits. One that was answered since is passed over.
 * 2. Where it ends is in the log, so a reader that joins later gets the same.
 */

import type { PendingApproval, Session, StreamItem } from "../index.js";
import { formatCursor } from "../stream/cursor.js";
import { createSessionView } from "../view/session-view.js";
import { questionKey, type ViewChange } from "../view/view-change.js";

/** What is read of a session. */
export type ReadableSession = Pick<Session, "id" | "events" | "pendingApprovals" | "state">;

/** A run, and where it is read from. */
export type RunCursor = {
  readonly runId: string;
  /** The place in the log behind which the run is read: `seq`, or `seq.index`. */
  readonly after: number | string;
};

export type RunFlowOptions = RunCursor & {
  /** The questions that have just been answered, by `questionKey`: nobody waits for them any more. */
  readonly answered?: ReadonlySet<string>;
  readonly signal?: AbortSignal;
};

/** What the flow of a run ends with, if the run has not ended: the calls that wait. */
export type RunWaiting = { readonly type: "waiting"; readonly approvals: readonly PendingApproval[] };

/** The last item is the run's `final`, or what waits. */
export async function* streamRun(
  session: ReadableSession,
  { runId, after, answered = noAnswers, signal }: RunFlowOptions,
): AsyncGenerator<ViewChange | RunWaiting, void, undefined> {
  const view = createSessionView();
  const approvals = await listOpenApprovals(session, answered);
  // If nothing is asked or answered behind this place, no event tells that the run waits.
  const hasEventAhead = approvals.length === 0 || answered.size > 0 || (await suspendsAgain(session, runId, after));
  const options = hasEventAhead ? { after, ...(signal === undefined ? {} : { signal }) } : { after, follow: false };
  for await (const item of session.events(options)) {
    if (!isOfRun(item, runId)) continue;
    const waiting = await findWaiting(session, item, runId, answered);
    yield* view.apply(item);
    if (waiting !== null) return yield { type: "waiting", approvals: waiting };
    if (item.type === "final") return;
  }
  if (!hasEventAhead) yield { type: "waiting", approvals };
}

const noAnswers: ReadonlySet<string> = new Set();

/** An item that names no run belongs to the session, so to each of its runs. */
function isOfRun(item: StreamItem, runId: string): boolean {
  if (item.type === "delta") return item.delta.runId === runId;
  if ("runId" in item && item.runId !== undefined) return item.runId === runId;
  return item.type === "late_result" || !("callKey" in item) || item.callKey.startsWith(`${runId}/`);
}

/** What else waits, if questions were answered just now. */
export async function listOpenApprovals(
  session: ReadableSession,
  answered: ReadonlySet<string>,
): Promise<readonly PendingApproval[]> {
  return (await session.pendingApprovals()).filter((candidate) => !answered.has(questionKey(candidate)));
}

/** What waits, if the run does nothing else since this item. */
async function findWaiting(
  session: ReadableSession,
  item: StreamItem,
  runId: string,
  answered: ReadonlySet<string>,
): Promise<readonly PendingApproval[] | null> {
  // A no to one of several calls lets the run wait on, and no other event tells so.
  const isAnswer = item.type === "approval_answered" || item.type === "tool_result";
  if (item.type !== "suspended" && !(isAnswer && answered.has(questionKey(item)))) return null;
  // In this order: what waits again by now has an event behind this one.
  const { status } = await session.state();
  const waiting = await listOpenApprovals(session, answered);
  if (status !== "awaiting_human" || waiting.length === 0) return null;
  if (item.type === "suspended" && !item.approvals.some((candidate) => includesApproval(waiting, candidate)))
    return null;
  // More was asked since: the flow ends there.
  return (await suspendsAgain(session, runId, formatCursor(item))) ? null : waiting;
}

function includesApproval(waiting: readonly PendingApproval[], approval: PendingApproval): boolean {
  return waiting.some((candidate) => questionKey(candidate) === questionKey(approval));
}

async function suspendsAgain(session: ReadableSession, runId: string, after: number | string): Promise<boolean> {
  for await (const laterEvent of session.events({ after, follow: false }))
    if (laterEvent.type === "suspended" && laterEvent.runId === runId) return true;
  return false;
}

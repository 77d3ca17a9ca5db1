/**
 * The flow of one run, from a place of the log to the run's end, or until it waits for somebody.
 *
 * 1. The flow ends at `suspended` only while the session still waits. One that was answered since is passed over.
 * 2. Where it ends is in the log, so a reader that joins later gets the same.
 */
import type { PendingApproval, PublicEvent, Session, StreamItem } from "../index.js";
import { createMessageFlow, type FlowItem } from "./message-flow.js";

/** What is read of a session. */
export type ReadableSession = Pick<Session, "id" | "events" | "pendingApprovals">;

/** A run, and where it is read from. */
export type RunPlace = {
  readonly runId: string;
  /** The place in the log behind which the run is read: `seq`, or `seq.index`. */
  readonly after: number | string;
};

export type RunFlowOptions = RunPlace & {
  /** The calls that have just been answered: nobody waits for them any more. */
  readonly answered?: ReadonlySet<string>;
  readonly signal?: AbortSignal;
};

/** What the flow of a run ends with, if the run has not ended: the calls that wait. */
export type Waiting = { readonly type: "waiting"; readonly approvals: readonly PendingApproval[] };

/** The last item is the run's `final`, or what waits. */
export async function* runFlow(
  session: ReadableSession,
  { runId, after, answered = none, signal }: RunFlowOptions,
): AsyncGenerator<FlowItem | Waiting, void, undefined> {
  const flow = createMessageFlow();
  const approvals = await othersWaiting(session, answered);
  // If nothing is asked behind this place, no event tells that the run waits.
  const isAsked = approvals.length === 0 || (await asksAgain(session, runId, after));
  const options = isAsked ? { after, ...(signal === undefined ? {} : { signal }) } : { after, follow: false };
  for await (const item of session.events(options)) {
    if (!isOfRun(item, runId)) continue;
    const waiting = item.type === "suspended" ? await waitingAt(session, item, answered) : null;
    yield* flow(item);
    if (waiting !== null) return yield { type: "waiting", approvals: waiting };
    if (item.type === "final") return;
  }
  if (!isAsked) yield { type: "waiting", approvals };
}

const none: ReadonlySet<string> = new Set();

/** An item that names no run belongs to the session, so to each of its runs. */
function isOfRun(item: StreamItem, runId: string): boolean {
  if (item.type === "delta") return item.delta.runId === runId;
  if ("runId" in item && item.runId !== undefined) return item.runId === runId;
  return item.type === "late_result" || !("callKey" in item) || item.callKey.startsWith(`${runId}/`);
}

/** What else waits, if calls were answered just now. */
export async function othersWaiting(
  session: ReadableSession,
  answered: ReadonlySet<string>,
): Promise<readonly PendingApproval[]> {
  return (await session.pendingApprovals()).filter(({ callKey }) => !answered.has(callKey));
}

type Suspended = Extract<PublicEvent, { readonly type: "suspended" }>;

/** What waits, if the run still waits since this event. */
async function waitingAt(
  session: ReadableSession,
  event: Suspended,
  answered: ReadonlySet<string>,
): Promise<readonly PendingApproval[] | null> {
  const keyOf = (one: PendingApproval) => `${one.callKey} ${one.questionId ?? ""}`;
  const asked = new Set(event.approvals.map(keyOf));
  const waiting = await othersWaiting(session, answered);
  if (!waiting.some((one) => asked.has(keyOf(one)))) return null;
  // More was asked since: the flow ends there.
  return (await asksAgain(session, event.runId, `${event.seq}.${event.index}`)) ? null : waiting;
}

async function asksAgain(session: ReadableSession, runId: string, after: number | string): Promise<boolean> {
  for await (const later of session.events({ after, follow: false }))
    if (later.type === "suspended" && later.runId === runId) return true;
  return false;
}

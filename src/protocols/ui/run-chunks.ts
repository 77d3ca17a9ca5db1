/**
 * The chunks of one run, from an event of its log to its end, or until it waits for somebody.
 *
 * 1. The stream ends at `suspended` only while the session still waits. One that was answered since is passed over.
 * 2. Where it ends is in the log, so a reader that joins later gets the same message.
 */
import type { PendingApproval, PublicEvent, Session, StreamItem } from "../../index.js";
import { createMessageFlow } from "../message-flow.js";
import { chunksOf, type KnownCalls, type UiChunk } from "./chunks.js";

/** What is read of a session. */
export type ReadableSession = Pick<Session, "id" | "events" | "pendingApprovals">;

export type RunChunksOptions = {
  readonly runId: string;
  /** The place in the log behind which the run is read: `seq`, or `seq.index`. */
  readonly after: number | string;
  /** The calls whose parts the page has already. */
  readonly known?: Iterable<string>;
  /** The calls that have just been answered: nobody waits for them any more. */
  readonly answered?: ReadonlySet<string>;
  readonly signal?: AbortSignal;
};

/** The id of the message that holds a run. It is not the id of the user's message, which names the run. */
export function messageIdOf(runId: string): string {
  return `run:${runId}`;
}

export async function* runChunks(
  session: ReadableSession,
  { runId, after, known = [], answered = new Set(), signal }: RunChunksOptions,
): AsyncGenerator<UiChunk, void, undefined> {
  const calls: KnownCalls = new Set(known);
  const flow = createMessageFlow();
  yield { type: "start", messageId: messageIdOf(runId), messageMetadata: { sessionId: session.id } };
  const options = signal === undefined ? { after } : { after, signal };
  for await (const item of session.events(options)) {
    if (!isOfRun(item, runId)) continue;
    for (const part of flow(item)) yield* chunksOf(part, calls);
    if (item.type === "final") return;
    if (item.type === "suspended" && (await isStillWaiting(session, item, answered))) {
      yield { type: "finish", finishReason: "tool-calls" };
      return;
    }
  }
}

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

async function isStillWaiting(
  session: ReadableSession,
  event: Suspended,
  answered: ReadonlySet<string>,
): Promise<boolean> {
  const keyOf = (one: PendingApproval) => `${one.callKey} ${one.questionId ?? ""}`;
  const asked = new Set(event.approvals.map(keyOf));
  const waiting = await othersWaiting(session, answered);
  if (!waiting.some((one) => asked.has(keyOf(one)))) return false;
  // More was asked since: the stream ends there.
  for await (const later of session.events({ after: `${event.seq}.${event.index}`, follow: false }))
    if (later.type === "suspended" && later.runId === event.runId) return false;
  return true;
}

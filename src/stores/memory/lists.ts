/**
 * Lists of the sessions in memory.
 */
import type { Event } from "../../core/machine/event.js";
import type { InboxMessage } from "../../core/machine/inbox.js";
import { initialState, type State } from "../../core/machine/state.js";
import { buildOverview } from "../../core/view/session-overview.js";
import type {
  Activity,
  AskingOptions,
  AskingSession,
  Holder,
  ListOptions,
  MessageIdsOptions,
  SessionSummary,
  StateAt,
} from "../../ports/store.js";
import { buildSearchText } from "../shared/encode.js";
import { isHeld, type LeaseHold } from "../shared/lease.js";
import type { MemoryWait } from "./signals.js";

export type MemorySession = {
  readonly sessionId: string;
  readonly createdAt: number;
  updatedAt: number;
  epoch: number;
  hold: LeaseHold | null;
  activity: Activity;
  dueAt: number | null;
  askedAt: number | null;
  state: State | null;
  /** The states that `loadAt` finds, oldest first. Keeping the state of every commit would cost a single session a tenth of a step. */
  readonly states: State[];
  /** The events in order: the first is entry 1. */
  readonly log: Event[];
  /** All sessions share one empty map while their inbox is empty. */
  inbox: Map<string, InboxMessage>;
  /** Every message id that was ever accepted, including consumed ones. */
  readonly takenIds: Set<string>;
  /** The signals that its calls have had; see `signals.ts`. */
  had: Set<string> | null;
  /** The signals that its tools wait for. All sessions without any share one empty list. */
  waits: readonly MemoryWait[];
  readonly blobs: Map<string, SharedBlob>;
};

/** Sessions often have the same blobs (their prompt, their tools), so the bytes are stored once. */
export type SharedBlob = { readonly hash: string; readonly bytes: Uint8Array; refCount: number };

/** Newest first. */
export function listSessions(sessions: readonly MemorySession[], options: ListOptions): readonly SessionSummary[] {
  const { limit, after } = options;
  const page = sessions
    .map((session) => ({ session, ...toSummary(session) }))
    .filter((summary) => matchesFilter(summary, options))
    .sort(compareByUpdate)
    .filter((summary) => after === undefined || compareByUpdate(after, summary) < 0)
    .slice(0, limit);
  if (options.overview !== true) return page.map(({ session: _, ...summary }) => summary);
  const parents = new Set(sessions.map(({ state }) => state?.session?.parent?.sessionId));
  return page.map(({ session: { state }, ...summary }) => {
    const overview = buildOverview(state ?? initialState);
    return { ...summary, overview: { ...overview, hasChildren: parents.has(summary.sessionId) } };
  });
}

function matchesFilter({ sessionId, info, status }: SessionSummary, options: ListOptions): boolean {
  const { parent, agent, root, text } = options;
  return (
    (text === undefined || buildSearchText(sessionId, info).includes(text.toLowerCase())) &&
    (options.status === undefined || options.status.includes(status)) &&
    (agent === undefined || info?.agent === agent) &&
    (root === undefined || info?.root === root) &&
    (parent === undefined || (info?.parent?.sessionId ?? null) === parent)
  );
}

export function toSummary(session: MemorySession): SessionSummary {
  return {
    sessionId: session.sessionId,
    info: session.state?.session ?? null,
    status: session.state?.status ?? "idle",
    activity: session.activity,
    seq: session.log.length,
    createdAt: session.createdAt,
    updatedAt: session.updatedAt,
    inbox: session.inbox.size,
    holder: session.hold?.holder ?? null,
  };
}

/** The port allows up to 64 entries. */
const stateInterval = 16;

/** Records the state of a commit, and keeps it for `loadAt` if the last kept state is old enough. */
export function recordState(session: MemorySession, state: State): void {
  const lastRecorded = session.states.at(-1);
  if (lastRecorded === undefined || state.seq - lastRecorded.seq >= stateInterval) session.states.push(state);
  session.state = state;
}

/** A state at or before entry `seq`; null if there is none. */
export function findStateAt({ state: last, states }: MemorySession, seq: number): StateAt | null {
  if (last !== null && last.seq <= seq) return { seq: last.seq, state: last };
  let low = 0;
  for (let high = states.length; low < high; ) {
    const middle = (low + high) >> 1;
    if ((states[middle]?.seq ?? 0) <= seq) low = middle + 1;
    else high = middle;
  }
  const state = states[low - 1];
  return state === undefined ? null : { seq: state.seq, state };
}

/** Sorted by the bytes of the ids. */
export function listMessageIds(session: MemorySession | undefined, options: MessageIdsOptions): readonly string[] {
  const { after, limit } = options;
  return [...(session?.takenIds ?? [])]
    .sort(compareCodePoints)
    .filter((id) => after === undefined || compareCodePoints(after, id) < 0)
    .slice(0, limit);
}

type UpdatePosition = { readonly updatedAt: number; readonly sessionId: string };

/** Compares by time, then by the bytes of the id, as databases compare text. */
function compareByUpdate(a: UpdatePosition, b: UpdatePosition): number {
  return a.updatedAt !== b.updatedAt ? b.updatedAt - a.updatedAt : compareIds(a, b);
}

type HasSessionId = { readonly sessionId: string };

function compareIds({ sessionId: a }: HasSessionId, { sessionId: b }: HasSessionId): number {
  return compareCodePoints(a, b);
}

/** UTF-8 keeps the order of code points, but UTF-16 does not: surrogate pairs encode code points above U+FFFF with units below it. */
function compareCodePoints(a: string, b: string): number {
  const end = Math.min(a.length, b.length);
  for (let at = 0; at < end; at += 1) {
    const [left, right] = [a.charCodeAt(at), b.charCodeAt(at)];
    if (left !== right) return codeUnitRank(left) - codeUnitRank(right);
  }
  return a.length - b.length;
}

function codeUnitRank(unit: number): number {
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit;
}

/** The sessions that wait for an answer, in the order that `sliceAskingSessions` expects. */
export function sortAskingSessions(sessions: Iterable<MemorySession>): readonly AskingMemorySession[] {
  return [...sessions].filter(isAsking).sort(compareByAskedAt);
}

/** A page of the result of `sortAskingSessions`: the sessions that have waited longest first. */
export function sliceAskingSessions(
  sorted: readonly AskingMemorySession[],
  { limit, after }: AskingOptions,
): readonly AskingSession[] {
  const from = after === undefined ? 0 : findFirstAfter(sorted, after);
  return sorted
    .slice(from, limit === undefined ? undefined : from + limit)
    .map(({ sessionId, askedAt, state, inbox }) => ({
      sessionId,
      askedAt,
      state,
      inbox: inbox.size,
    }));
}

export type AskingMemorySession = MemorySession & { readonly askedAt: number };

function isAsking(session: MemorySession): session is AskingMemorySession {
  return session.askedAt !== null;
}

type AskingCursor = NonNullable<AskingOptions["after"]>;

function compareByAskedAt(a: AskingCursor, b: AskingCursor): number {
  return a.askedAt !== b.askedAt ? a.askedAt - b.askedAt : compareIds(a, b);
}

function findFirstAfter(sorted: readonly AskingMemorySession[], cursor: AskingCursor): number {
  let low = 0;
  for (let high = sorted.length; low < high; ) {
    const middle = (low + high) >> 1;
    const candidate = sorted[middle];
    if (candidate !== undefined && compareByAskedAt(candidate, cursor) <= 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The longest due first. */
export function listDueSessions(
  sessions: readonly MemorySession[],
  now: number,
  limit: number,
  isDead: (holder: Holder) => boolean,
): readonly string[] {
  return sessions
    .filter((session) => session.inbox.size > 0 || (session.dueAt !== null && session.dueAt <= now))
    .filter((session) => !isHeld(session.hold, now, isDead))
    .sort((a, b) => findDueSince(a) - findDueSince(b))
    .slice(0, limit)
    .map((session) => session.sessionId);
}

function findDueSince(session: MemorySession): number {
  let since = session.dueAt ?? Number.POSITIVE_INFINITY;
  for (const message of session.inbox.values()) since = Math.min(since, message.at);
  return since;
}

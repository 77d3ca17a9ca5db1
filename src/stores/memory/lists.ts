/**
 * Lists of the sessions in memory.
 */
import type { Event } from "../../core/machine/event.js";
import type { InboxMessage } from "../../core/machine/inbox.js";
import type { State } from "../../core/machine/state.js";
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
import { type Hold, isHeld } from "../shared/lease.js";

export type MemorySession = {
  readonly sessionId: string;
  readonly createdAt: number;
  updatedAt: number;
  epoch: number;
  hold: Hold | null;
  activity: Activity;
  dueAt: number | null;
  askedAt: number | null;
  state: State | null;
  /** States that `loadAt` finds, oldest first. Keeping that of each commit would cost a lone session a tenth of a step. */
  readonly states: State[];
  /** In order: the first is entry 1. */
  readonly log: Event[];
  /** All sessions share one empty map while their inbox is empty. */
  inbox: Map<string, InboxMessage>;
  /** Every message id that was ever taken, consumed ones too. */
  readonly taken: Set<string>;
  readonly blobs: Map<string, KeptBlob>;
};

/** Sessions often have the same blobs (their prompt, their tools): the bytes are kept once. */
export type KeptBlob = { readonly hash: string; readonly bytes: Uint8Array; holders: number };

/** Newest first. */
export function list(sessions: readonly MemorySession[], options: ListOptions): readonly SessionSummary[] {
  const { limit, after } = options;
  return sessions
    .map(summaryOf)
    .filter((summary) => passes(summary, options))
    .sort(newestFirst)
    .filter((summary) => after === undefined || newestFirst(after, summary) < 0)
    .slice(0, limit);
}

function passes({ info, status }: SessionSummary, options: ListOptions): boolean {
  const { parent, agent, root } = options;
  return (
    (options.status === undefined || options.status.includes(status)) &&
    (agent === undefined || info?.agent === agent) &&
    (root === undefined || info?.root === root) &&
    (parent === undefined || (info?.parent?.sessionId ?? null) === parent)
  );
}

export function summaryOf(session: MemorySession): SessionSummary {
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

/** The port allows 64. */
const statesApart = 16;

/** Keeps the state of a commit if the last kept one is old enough. */
export function keepState(session: MemorySession, state: State): void {
  const kept = session.states.at(-1);
  if (kept === undefined || state.seq - kept.seq >= statesApart) session.states.push(state);
  session.state = state;
}

/** A state at or before entry `seq`; null if there is none. */
export function stateAt({ state: last, states }: MemorySession, seq: number): StateAt | null {
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

/** In the order of their bytes. */
export function messageIdsOf(session: MemorySession | undefined, options: MessageIdsOptions): readonly string[] {
  const { after, limit } = options;
  return [...(session?.taken ?? [])]
    .sort(compareTexts)
    .filter((id) => after === undefined || compareTexts(after, id) < 0)
    .slice(0, limit);
}

type AskingPosition = { readonly updatedAt: number; readonly sessionId: string };

/** By time, then by the bytes of the id, as databases compare text. */
function newestFirst(a: AskingPosition, b: AskingPosition): number {
  return a.updatedAt !== b.updatedAt ? b.updatedAt - a.updatedAt : compareIds(a, b);
}

type Identified = { readonly sessionId: string };

function compareIds({ sessionId: a }: Identified, { sessionId: b }: Identified): number {
  return compareTexts(a, b);
}

/** UTF-8 keeps the order of code points. UTF-16 does not: a pair of surrogates is above U+FFFF, and its units are not. */
function compareTexts(a: string, b: string): number {
  const end = Math.min(a.length, b.length);
  for (let at = 0; at < end; at += 1) {
    const [left, right] = [a.charCodeAt(at), b.charCodeAt(at)];
    if (left !== right) return rankOf(left) - rankOf(right);
  }
  return a.length - b.length;
}

function rankOf(unit: number): number {
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit;
}

/** The sessions that wait for an answer, in the order of `askingFrom`. */
export function askingOf(sessions: Iterable<MemorySession>): readonly AskingOrder[] {
  return [...sessions].filter(isAsking).sort(longestFirst);
}

/** A page of what `askingOf` returned: those that have waited longest first. */
export function askingFrom(sorted: readonly AskingOrder[], { limit, after }: AskingOptions): readonly AskingSession[] {
  const from = after === undefined ? 0 : firstAfter(sorted, after);
  return sorted
    .slice(from, limit === undefined ? undefined : from + limit)
    .map(({ sessionId, askedAt, state, inbox }) => ({
      sessionId,
      askedAt,
      state,
      inbox: inbox.size,
    }));
}

export type AskingOrder = MemorySession & { readonly askedAt: number };

function isAsking(session: MemorySession): session is AskingOrder {
  return session.askedAt !== null;
}

type AskingPlace = NonNullable<AskingOptions["after"]>;

function longestFirst(a: AskingPlace, b: AskingPlace): number {
  return a.askedAt !== b.askedAt ? a.askedAt - b.askedAt : compareIds(a, b);
}

function firstAfter(sorted: readonly AskingOrder[], place: AskingPlace): number {
  let low = 0;
  for (let high = sorted.length; low < high; ) {
    const middle = (low + high) >> 1;
    const one = sorted[middle];
    if (one !== undefined && longestFirst(one, place) <= 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The longest due first. */
export function due(
  sessions: readonly MemorySession[],
  now: number,
  limit: number,
  isDead: (holder: Holder) => boolean,
): readonly string[] {
  return sessions
    .filter((session) => session.inbox.size > 0 || (session.dueAt !== null && session.dueAt <= now))
    .filter((session) => !isHeld(session.hold, now, isDead))
    .sort((a, b) => dueSince(a) - dueSince(b))
    .slice(0, limit)
    .map((session) => session.sessionId);
}

function dueSince(session: MemorySession): number {
  let since = session.dueAt ?? Number.POSITIVE_INFINITY;
  for (const message of session.inbox.values()) since = Math.min(since, message.at);
  return since;
}

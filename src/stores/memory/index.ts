/**
 * A store in memory: for tests, and for sessions that do not have to outlive their process.
 *
 * It serializes nothing and does not copy events, so callers must not change what they have committed or posted. Returned data is frozen
 * when it is first returned, so that commits do not pay for it.
 */
import { deepFreeze } from "../../core/data/freeze.js";
import type { Entry, Event } from "../../core/machine/event.js";
import type { InboxMessage } from "../../core/machine/inbox.js";
import { blobsOf } from "../../core/transcript/blob-references.js";
import { PawlError } from "../../errors.js";
import type {
  ClaimOptions,
  ClaimResult,
  Commit,
  CommitResult,
  Lease,
  PostResult,
  Redaction,
  ReleaseResult,
  Store,
  StoreProblem,
} from "../../ports/store.js";
import { assumeAlive, isHeld, isLive } from "../shared/lease.js";
import { checkId, checkSeq, hashBlob, noSessionError, sessionActiveError } from "../shared/rules.js";
import { findWaitProblems } from "../shared/verify-waits.js";
import { createWatchers, type Watchers } from "../shared/watchers.js";
import {
  type AskingMemorySession,
  findStateAt,
  listDueSessions,
  listMessageIds,
  listSessions,
  recordState,
  type MemorySession as Session,
  type SharedBlob,
  sliceAskingSessions,
  sortAskingSessions,
  toSummary,
} from "./lists.js";
import { addNotices, createMemoryNotices, createNoticeStore, deleteNotices, type MemoryNotices } from "./notices.js";
import { createScheduleStore, deleteDelayed, type MemorySchedules } from "./schedules.js";
import * as signals from "./signals.js";

type DeleteOptions = { readonly now: number; readonly force?: boolean };
type MemoryState = {
  readonly sessions: Map<string, Session>;
  /** The blobs of all sessions, by hash. */
  readonly blobs: Map<string, SharedBlob>;
  readonly watchers: Watchers;
  /** The sessions that are due, or may become due without a new message. */
  readonly maybeDue: Set<Session>;
  /** Sorted by `sortAskingSessions`; null if the order has changed since the last query. */
  sortedAsking: readonly AskingMemorySession[] | null;
  readonly signals: signals.MemorySignals;
  readonly schedules: MemorySchedules;
  readonly notices: MemoryNotices;
  epoch: number;
  open: boolean;
};

/**
 * A store that keeps everything in this process.
 *
 * @example
 * ```ts
 * const store = createMemoryStore(); // for tests: an agent without a store creates its own
 * const agent = createAgent({ model, tools, store });
 * await agent.run("Hello", { sessionId: "test" });
 * console.log(await store.read("test"));
 * ```
 */
export function createMemoryStore(): Store {
  const memory: MemoryState = {
    sessions: new Map(),
    blobs: new Map(),
    watchers: createWatchers(),
    maybeDue: new Set(),
    sortedAsking: null,
    signals: {
      kept: new Map(),
      waiting: new Map(),
      post: (sessionId, message) => void post(memory, sessionId, message),
    },
    schedules: new Map(),
    notices: createMemoryNotices(),
    epoch: 0,
    open: true,
  };
  const findSession = (sessionId: string): Session | undefined => getSessions(memory).get(sessionId);
  const listAll = (): readonly Session[] => [...getSessions(memory).values()];
  return {
    claim: async (sessionId, options) => claim(memory, ensureSession(memory, sessionId, options.now), options),
    renew: async (leases, now, leaseMs) =>
      leases
        .filter((lease) => !renew(findSession(lease.sessionId), lease, now, leaseMs))
        .map((lease) => lease.sessionId),
    release: async (lease) => release(findSession(lease.sessionId), lease),
    commit: async (lease, commit) => appendCommit(memory, findSession(lease.sessionId), lease, commit),
    redact: async (lease, redaction) => redact(memory, findSession(lease.sessionId), lease, redaction),
    load: async (sessionId) => {
      const session = findSession(sessionId);
      return session === undefined || session.state === null
        ? null
        : deepFreeze({ seq: session.log.length, state: session.state });
    },
    loadAt: async (sessionId, seq) => {
      const session = findSession(sessionId);
      return session === undefined ? null : deepFreeze(findStateAt(session, seq));
    },
    read: async (sessionId, after = 0, limit = Number.POSITIVE_INFINITY) =>
      deepFreeze(sliceLog(findSession(sessionId)?.log ?? [], after, limit)),
    post: async (sessionId, message) => post(memory, sessionId, message),
    inbox: async (sessionId) => deepFreeze([...(findSession(sessionId)?.inbox.values() ?? [])]),
    messageIds: async (sessionId, options) => deepFreeze(listMessageIds(findSession(sessionId), options)),
    list: async (options = {}) => deepFreeze(listSessions(listAll(), options)),
    describe: async (sessionId) => {
      const session = findSession(sessionId);
      return session === undefined ? null : deepFreeze(toSummary(session));
    },
    asking: async (options = {}) => {
      const sessions = getSessions(memory).values();
      memory.sortedAsking ??= sortAskingSessions(sessions);
      return deepFreeze(sliceAskingSessions(memory.sortedAsking, options));
    },
    due: async (now, limit, isDead = assumeAlive) => {
      getSessions(memory);
      return listDueSessions([...memory.maybeDue], now, limit, isDead);
    },
    watch: (listener) => {
      getSessions(memory);
      return memory.watchers.add(listener);
    },
    tellsAllChanges: true,
    putBlob: async (sessionId, bytes) => putBlob(memory, findSession(sessionId), sessionId, bytes),
    getBlob: async (sessionId, hash) => findSession(sessionId)?.blobs.get(hash)?.bytes.slice() ?? null,
    delete: async (sessionId, options) => deleteSession(memory, sessionId, findSession(sessionId), options),
    verify: async (sessionId) =>
      listAll()
        .filter((session) => sessionId === undefined || session.sessionId === sessionId)
        .flatMap(findProblems),
    signals: {
      send: async (signal) => {
        getSessions(memory);
        return deepFreeze(signals.send(memory.signals, deepFreeze({ ...signal })));
      },
      list: async (now, options) => {
        getSessions(memory);
        return deepFreeze(signals.list(memory.signals, now, options));
      },
      drop: async (now, limit) => {
        getSessions(memory);
        return signals.drop(memory.signals, now, limit);
      },
    },
    schedules: createScheduleStore(memory.schedules, {
      assertOpen: () => void getSessions(memory),
      post: (sessionId, message) => void post(memory, sessionId, message),
      addNotice: ({ at, ...notice }) => addNotices(memory.notices, { sessionId: null, at }, [notice]),
    }),
    notices: createNoticeStore(memory.notices, () => void getSessions(memory)),
    close: async () => {
      memory.open = false;
      memory.watchers.end();
    },
  };
}

function getSessions(memory: MemoryState): Map<string, Session> {
  if (!memory.open) throw new PawlError("store_closed", "The memory store is closed. Open a new one.");
  return memory.sessions;
}

function ensureSession(memory: MemoryState, sessionId: string, at: number): Session {
  const existing = getSessions(memory).get(sessionId);
  if (existing !== undefined) return existing;
  checkId("session", sessionId);
  const created = createSession(sessionId, at);
  memory.sessions.set(sessionId, created);
  return created;
}

const emptyInbox: Session["inbox"] = new Map();

function createSession(sessionId: string, at: number): Session {
  return {
    sessionId,
    createdAt: at,
    updatedAt: at,
    epoch: 0,
    hold: null,
    activity: "resting",
    dueAt: null,
    askedAt: null,
    state: null,
    states: [],
    log: [],
    inbox: emptyInbox,
    takenIds: new Set(),
    had: null,
    waits: signals.noWaits,
    blobs: new Map(),
  };
}

function sliceLog(log: readonly Event[], after: number, limit: number): readonly Entry[] {
  return log.slice(after, after + limit).map((event, index) => ({ seq: after + index + 1, event }));
}

function holdsLease(session: Session, lease: Lease): boolean {
  return session.hold !== null && session.epoch === lease.epoch;
}

function claim(memory: MemoryState, session: Session, options: ClaimOptions): ClaimResult {
  const { now, leaseMs, isDead = assumeAlive } = options;
  // A copy, because the caller may change its own object.
  const holder = { ...options.holder };
  const { hold, sessionId } = session;
  if (isHeld(hold, now, isDead)) return deepFreeze({ type: "held", holder: hold.holder, expiresAt: hold.expiresAt });
  // Epochs are counted per store, so that a session that was deleted and created again never sees an old epoch.
  memory.epoch += 1;
  session.epoch = memory.epoch;
  session.hold = { holder, expiresAt: now + leaseMs, leaseMs };
  const lease: Lease = { sessionId, epoch: session.epoch, holder, expiresAt: now + leaseMs };
  return deepFreeze({ type: "claimed", lease, seq: session.log.length, state: session.state });
}

function renew(session: Session | undefined, lease: Lease, now: number, leaseMs: number): boolean {
  if (session === undefined || !holdsLease(session, lease)) return false;
  session.hold = { holder: lease.holder, expiresAt: now + leaseMs, leaseMs };
  return true;
}

function release(session: Session | undefined, lease: Lease): ReleaseResult {
  if (session === undefined || !holdsLease(session, lease)) return { type: "fenced" };
  session.hold = null;
  return { type: "released" };
}

function appendCommit(memory: MemoryState, session: Session | undefined, lease: Lease, commit: Commit): CommitResult {
  if (session === undefined || !holdsLease(session, lease)) return { type: "fenced" };
  if (session.log.length !== commit.expectedSeq) return { type: "conflict", seq: session.log.length };
  const { consume = [], record = [] } = commit;
  for (const id of record) checkId("message", id);
  const duplicate = record.find((id, index) => session.takenIds.has(id) || record.indexOf(id) < index);
  if (duplicate !== undefined) return { type: "duplicate", id: duplicate };
  const { waits } = commit;
  const hasMessagesLeft =
    hasUnconsumed(session.inbox, consume) ||
    (waits !== undefined && signals.wouldGetSignal(memory.signals, session, waits, commit.at));
  if (commit.release === true && hasMessagesLeft) return { type: "inbox_not_empty" };
  checkSeq(commit);

  for (const event of commit.events) session.log.push(event);
  for (const id of consume) session.inbox.delete(id);
  if (session.inbox.size === 0) session.inbox = emptyInbox;
  for (const id of record) signals.takeId(session, id);
  if (waits !== undefined) signals.changeWaits(memory.signals, session, waits, commit.at);
  addNotices(memory.notices, { sessionId: session.sessionId, at: commit.at }, commit.notices ?? []);
  if (commit.events.length > 0) {
    recordState(session, commit.state);
    session.updatedAt = commit.at;
  }
  session.activity = commit.activity;
  session.dueAt = commit.dueAt;
  if (session.dueAt !== null || session.inbox.size > 0) memory.maybeDue.add(session);
  else memory.maybeDue.delete(session);
  if (session.askedAt !== commit.askedAt) {
    session.askedAt = commit.askedAt;
    memory.sortedAsking = null;
  }
  if (commit.release === true) session.hold = null;
  memory.watchers.notify({ sessionId: session.sessionId, in: "log" });
  return { type: "ok", seq: session.log.length };
}

function redact(memory: MemoryState, session: Session | undefined, lease: Lease, redaction: Redaction): CommitResult {
  const { commit, entries, state, removes } = redaction;
  const result = appendCommit(memory, session, lease, commit);
  if (result.type !== "ok" || session === undefined) return result;
  for (const { seq, event } of entries) if (seq <= commit.expectedSeq) session.log[seq - 1] = event;
  for (const [index, stored] of session.states.entries()) session.states[index] = state(stored);
  if (session.state !== null) session.state = state(session.state);
  for (const [hash, blob] of session.blobs)
    if (removes(hash, blob.bytes)) {
      session.blobs.delete(hash);
      releaseBlob(memory, blob);
    }
  return result;
}

function hasUnconsumed(inbox: ReadonlyMap<string, InboxMessage>, consume: readonly string[]): boolean {
  for (const id of inbox.keys()) if (!consume.includes(id)) return true;
  return false;
}

function post(memory: MemoryState, sessionId: string, message: InboxMessage): PostResult {
  checkId("message", message.id);
  const session = ensureSession(memory, sessionId, message.at);
  if (session.takenIds.has(message.id)) return { type: "duplicate" };
  signals.takeId(session, message.id);
  if (session.inbox === emptyInbox) session.inbox = new Map();
  session.inbox.set(message.id, message);
  memory.maybeDue.add(session);
  memory.watchers.notify({ sessionId, in: "inbox" });
  return { type: "posted" };
}

function putBlob({ blobs }: MemoryState, session: Session | undefined, sessionId: string, bytes: Uint8Array): string {
  if (session === undefined) throw noSessionError(sessionId);
  const hash = hashBlob(bytes);
  if (session.blobs.has(hash)) return hash;
  const blob = blobs.get(hash) ?? { hash, bytes: Uint8Array.from(bytes), refCount: 0 };
  blob.refCount += 1;
  blobs.set(blob.hash, blob);
  session.blobs.set(blob.hash, blob);
  return blob.hash;
}

function releaseBlob(memory: MemoryState, blob: SharedBlob): void {
  blob.refCount -= 1;
  if (blob.refCount === 0) memory.blobs.delete(blob.hash);
}

function deleteSession(
  memory: MemoryState,
  sessionId: string,
  session: Session | undefined,
  options: DeleteOptions,
): boolean {
  // A session has no row before its first message is posted.
  if (session === undefined) return deleteDelayed(memory.schedules, sessionId);
  const leased = session.hold !== null && isLive(session.hold, options.now);
  if (options.force !== true && (leased || session.activity !== "resting")) throw sessionActiveError(session.sessionId);
  memory.sessions.delete(session.sessionId);
  memory.maybeDue.delete(session);
  signals.forgetWaits(memory.signals, session);
  deleteDelayed(memory.schedules, session.sessionId);
  deleteNotices(memory.notices, ({ sessionId }) => sessionId === session.sessionId);
  for (const blob of session.blobs.values()) releaseBlob(memory, blob);
  if (session.askedAt !== null) memory.sortedAsking = null;
  memory.watchers.notify({ sessionId: session.sessionId });
  return true;
}

function findProblems(session: Session): readonly StoreProblem[] {
  const { sessionId, log, state, blobs, waits, inbox } = session;
  const problems: StoreProblem[] = findWaitProblems(state, waits, new Set(inbox.keys())).map((what) => ({
    sessionId,
    what,
  }));
  if (state !== null && state.seq !== log.length)
    problems.push({ sessionId, what: `the state belongs to entry ${state.seq}, but the log ends at ${log.length}` });
  for (const [index, event] of log.entries())
    for (const hash of blobsOf(event))
      if (!blobs.has(hash))
        problems.push({ sessionId, what: `blob ${hash}, which entry ${index + 1} refers to, is missing` });
  for (const [hash, { bytes }] of blobs)
    if (hashBlob(bytes) !== hash) problems.push({ sessionId, what: `blob ${hash} does not match its hash` });
  return problems;
}

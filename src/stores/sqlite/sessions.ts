/**
 * Writes to sessions. Each function runs inside a transaction, and writes nothing if it refuses.
 */
import type { SessionInfo } from "../../core/machine/state.js";
import type {
  Activity,
  ClaimOptions,
  ClaimResult,
  Commit,
  CommitResult,
  Lease,
  PostResult,
  ReleaseResult,
  StateAt,
} from "../../ports/store.js";
import { checksumOf, checksumPrefixOf } from "../shared/checksum.js";
import { corruptError, decodeHolder } from "../shared/decode.js";
import { buildSearchText, encodeEvents, encodeInfo, encodeOverview, encodeState } from "../shared/encode.js";
import { assumeAlive, isHeld, isLive, type LeaseHold } from "../shared/lease.js";
import { type EncodedNotice, encodeNotices } from "../shared/notice-rows.js";
import { type StateRow, toStateAt } from "../shared/rows.js";
import { checkSeq, isValidId, noSessionError, sessionActiveError } from "../shared/rules.js";
import { type ByteColumns, decodeColumn, type SqliteBytes } from "./driver.js";
import type { Database } from "./schema.js";
import { changeWaits, wouldGetSignal } from "./signals.js";

const activities: readonly Activity[] = ["resting", "active", "waiting"];

/** A commit's JSON. It is created before the transaction, so that the lock is held for less time. */
export type EncodedCommit = {
  readonly events: string;
  readonly eventsSum: number;
  readonly state: string;
  readonly stateSum: number;
  /** Null if the commit keeps the lease: the overview is then derived from the state. */
  readonly overview: string | null;
  readonly overviewSum: number | null;
  readonly notices: readonly EncodedNotice[];
};

export function encodeCommit(sessionId: string, commit: Commit): EncodedCommit {
  const events = encodeEvents(commit.events);
  const state = encodeState(commit.state);
  const prefix = checksumPrefixOf(sessionId, commit.expectedSeq + commit.events.length);
  const overview = commit.release === true && commit.state.seq > 0 ? encodeOverview(commit.state) : null;
  return {
    events,
    eventsSum: checksumOf(events, prefix),
    state,
    stateSum: checksumOf(state, prefix),
    overview,
    overviewSum: overview === null ? null : checksumOf(overview, prefix),
    notices: encodeNotices(commit.notices),
  };
}

/** An inbox message. `body` is the JSON of the whole message. */
export type PostedMessage = { readonly id: string; readonly at: number; readonly body: string };

type SessionHead = {
  readonly id: number;
  readonly epoch: number;
  readonly isHeld: number;
  readonly leaseUntil: number;
  readonly leaseMs: number;
  /** The index in `activities`; null if the value is unknown. */
  readonly activity: number | null;
  readonly dueAt: number | null;
  readonly askedAt: number | null;
  readonly infoSum: number | null;
  /** The number of the last entry; null if the log is empty. */
  readonly tail: number | null;
};

export function claim(db: Database, sessionId: string, options: ClaimOptions): ClaimResult {
  const { statements } = db;
  const { holder, now, leaseMs, isDead = assumeAlive } = options;
  ensureSession(db, sessionId, now);
  const head = findHead(db, sessionId) ?? throwMissingRow(db, sessionId);
  const hold = readHold(db, sessionId, head);
  if (isHeld(hold, now, isDead)) return { type: "held", holder: hold.holder, expiresAt: hold.expiresAt };
  // Read before anything is written: a session whose state is damaged or of a later version is not claimed.
  const state =
    head.tail === null
      ? null
      : (readStateAt(db, sessionId, head.id, head.tail) ?? throwMissingRow(db, sessionId)).state;
  // Epochs are counted per store, so that a session that was deleted and created again never sees an old epoch.
  statements.nextEpoch.run();
  const { epoch } = statements.epoch.get() as { readonly epoch: number };
  statements.hold.run(epoch, JSON.stringify(holder), now + leaseMs, leaseMs, head.id);
  return {
    type: "claimed",
    lease: { sessionId, epoch, holder, expiresAt: now + leaseMs },
    seq: lastSeqOf(head),
    state,
  };
}

/** Extends the leases that are still held, in one statement. Returns the sessions whose lease is lost. */
export function renew(db: Database, leases: readonly Lease[], now: number, leaseMs: number): readonly string[] {
  const { statements } = db;
  const epochs = JSON.stringify(leases.map((lease) => lease.epoch));
  statements.renew.run(now + leaseMs, leaseMs, epochs);
  const heldRows = statements.stillHeld.all(epochs) as readonly {
    readonly name: SqliteBytes;
    readonly epoch: number;
  }[];
  const epochBySession = new Map(heldRows.map((row) => [decodeColumn(row.name), row.epoch]));
  return leases.filter((lease) => epochBySession.get(lease.sessionId) !== lease.epoch).map((lease) => lease.sessionId);
}

export function release(db: Database, lease: Lease): Exclude<ReleaseResult, { type: "busy" }> {
  const head = findHead(db, lease.sessionId);
  if (!isHeldBy(head, lease)) return { type: "fenced" };
  clearHolder(db, head.id, lastSeqOf(head));
  return { type: "released" };
}

/** Clears the holder. While a session is not held, its own row describes its last commit. */
function clearHolder({ statements }: Database, id: number, seq: number): void {
  if (seq === 0) statements.clearHolder.run(id);
  else statements.rest.run(id);
}

export function append(db: Database, lease: Lease, commit: Commit, encoded: EncodedCommit): CommitResult {
  const { statements } = db;
  const head = findHead(db, lease.sessionId);
  if (!isHeldBy(head, lease)) return { type: "fenced" };
  const current = lastSeqOf(head);
  if (current !== commit.expectedSeq) return { type: "conflict", seq: current };
  const { consume = [], record = [], activity, dueAt, askedAt } = commit;
  const duplicate = record.find((id, index) => isTaken(db, head.id, id) || record.indexOf(id) < index);
  if (duplicate !== undefined) return { type: "duplicate", id: duplicate };
  const { waits, release: releases = false } = commit;
  if (releases && hasUnconsumed(db, head.id, consume)) return { type: "inbox_not_empty" };
  if (releases && waits !== undefined && wouldGetSignal(db, head.id, waits, commit.at))
    return { type: "inbox_not_empty" };
  checkSeq(commit);

  const seq = current + commit.events.length;
  if (seq > current) {
    const { events, eventsSum, state, stateSum } = encoded;
    const { status } = commit.state;
    statements.append.run(head.id, seq, commit.state.v, status, commit.at, events, eventsSum, state, stateSum);
    writeInfo(db, lease.sessionId, head, commit.state.session);
  }
  for (const id of consume) statements.consume.run(head.id, id);
  for (const id of record) statements.take.run(head.id, id, commit.at, null, null);
  if (waits !== undefined) changeWaits(db, head.id, waits, commit.at);
  for (const { id, text, sum } of encoded.notices) statements.addNotice.run(id, lease.sessionId, commit.at, text, sum);
  if (activity !== activities[head.activity ?? -1] || dueAt !== head.dueAt || askedAt !== head.askedAt)
    statements.describe.run(activity, dueAt, askedAt, head.id);
  if (encoded.overview !== null) statements.summarize.run(encoded.overview, seq, encoded.overviewSum, head.id);
  if (releases) clearHolder(db, head.id, seq);
  return { type: "ok", seq };
}

/** Writes the session info into the session's own row, for lists. It changes rarely. */
function writeInfo({ statements }: Database, sessionId: string, head: SessionHead, info: SessionInfo | null): void {
  const text = info === null ? null : encodeInfo(info);
  const sum = text === null ? null : checksumOf(text);
  if (sum === head.infoSum) return;
  const { agent = null, parent = null, title = null, root = null, principal = null } = info ?? {};
  const search = buildSearchText(sessionId, info);
  statements.introduce.run(agent, parent?.sessionId ?? null, title, root, principal, text, sum, search, head.id);
}

export function post(db: Database, sessionId: string, message: PostedMessage): PostResult {
  const id = ensureSession(db, sessionId, message.at);
  if (isTaken(db, id, message.id)) return { type: "duplicate" };
  db.statements.take.run(id, message.id, message.at, message.body, checksumOf(message.body));
  return { type: "posted" };
}

export function putBlob(db: Database, sessionId: string, hash: string, bytes: Uint8Array): void {
  const id = findId(db, sessionId);
  if (id === undefined) throw noSessionError(sessionId);
  db.statements.addBlob.run(id, hash, bytes);
}

export function deleteSession(
  db: Database,
  sessionId: string,
  options: { readonly now: number; readonly force?: boolean },
): boolean {
  const { statements } = db;
  const head = findHead(db, sessionId);
  if (head === undefined) return deleteDelayed(db, sessionId);
  const isHeldNow = head.isHeld === 1 && isLive({ expiresAt: head.leaseUntil, leaseMs: head.leaseMs }, options.now);
  if (options.force !== true && (isHeldNow || activities[head.activity ?? -1] !== "resting"))
    throw sessionActiveError(sessionId);
  statements.dropCommits.run(head.id);
  statements.dropMessages.run(head.id);
  statements.dropBlobs.run(head.id);
  statements.dropWaits.run(head.id);
  statements.dropDelayed.run(sessionId);
  statements.dropNoticesOfSession.run(sessionId);
  statements.dropSession.run(head.id);
  return true;
}

/** Deletes the delayed messages of a session that has not begun. Returns whether there were any. */
function deleteDelayed({ statements }: Database, sessionId: string): boolean {
  if (!isValidId(sessionId) || statements.hasDelayed.get(sessionId) === undefined) return false;
  statements.dropDelayed.run(sessionId);
  return true;
}

/** The state in the last row at or before this entry; null if there is none. */
export function readStateAt(db: Database, sessionId: string, id: number, seq: number): StateAt | null {
  const row = db.statements.stateAt.get(id, seq) as ByteColumns<StateRow> | undefined;
  return row === undefined ? null : toStateAt({ ...row, state: decodeColumn(row.state) }, db.file, sessionId);
}

export function findHead(db: Database, sessionId: string): SessionHead | undefined {
  return isValidId(sessionId) ? (db.statements.head.get(sessionId) as SessionHead | undefined) : undefined;
}

export function findId(db: Database, sessionId: string): number | undefined {
  if (!isValidId(sessionId)) return undefined;
  return (db.statements.sessionId.get(sessionId) as { readonly id: number } | undefined)?.id;
}

function ensureSession(db: Database, sessionId: string, at: number): number {
  const existing = findId(db, sessionId);
  if (existing !== undefined) return existing;
  db.statements.addSession.run(sessionId, at, at);
  return findId(db, sessionId) ?? throwMissingRow(db, sessionId);
}

function throwMissingRow(db: Database, sessionId: string): never {
  throw corruptError({ file: db.file, sessionId, seq: 0 }, "its row cannot be found");
}

function readHold(db: Database, sessionId: string, head: SessionHead): LeaseHold | null {
  const row = db.statements.holder.get(head.id) as { readonly holder: SqliteBytes } | undefined;
  if (row === undefined) return null;
  const holder = decodeHolder(decodeColumn(row.holder), { file: db.file, sessionId, seq: 0 });
  return { holder, expiresAt: head.leaseUntil, leaseMs: head.leaseMs };
}

function lastSeqOf(head: SessionHead): number {
  return head.tail ?? 0;
}

function isHeldBy(head: SessionHead | undefined, lease: Lease): head is SessionHead {
  return head !== undefined && head.isHeld === 1 && head.epoch === lease.epoch;
}

function isTaken(db: Database, id: number, messageId: string): boolean {
  return db.statements.isTaken.get(id, messageId) !== undefined;
}

function hasUnconsumed(db: Database, id: number, consumed: readonly string[]): boolean {
  const remaining = db.statements.inboxIds.all(id, consumed.length + 1) as readonly { readonly id: SqliteBytes }[];
  return remaining.some((message) => !consumed.includes(decodeColumn(message.id)));
}

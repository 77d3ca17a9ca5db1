/**
 * Writes the items of an export into a store, session by session, under the leases of the import.
 *
 * 1. Content that was already written is skipped, so that an interrupted import can continue.
 * 2. A commit contains many entries, and the state to which they lead. The state of the last commit is the one in the export.
 * 3. The fields that make a session due are written last, and take effect only when its lease is released.
 */

import { defined } from "../../core/data/defined.js";
import { isSameJson } from "../../core/data/json.js";
import { dueAt } from "../../core/machine/effects.js";
import type { Event } from "../../core/machine/event.js";
import type { InboxMessage } from "../../core/machine/inbox.js";
import { isSignalMessage, signalWaits } from "../../core/machine/signal-waits.js";
import { activityOf, initialState, type State } from "../../core/machine/state.js";
import { askedAt } from "../../core/view/outcome.js";
import { PawlError } from "../../errors.js";
import { createImportHolder } from "../../ports/import-holder.js";
import type { PostedRun, PutRow, ScheduleStore } from "../../ports/schedule-store.js";
import type { Commit, Holder, Lease, Store } from "../../ports/store.js";
import { nameOfWait } from "../shared/signals.js";
import { maxIdsPerLine } from "./lines.js";
import type { ExportItem, ImportedSchedule, SessionHead } from "./read-lines.js";

/** Longer than any process runs: these leases end only when the import releases them. */
const leaseMs = 100 * 365 * 24 * 3_600_000;
/** The limit of `Store.loadAt`: it returns a state that is at most this many entries older. */
const maxEntriesPerCommit = 64;
/** The maximum total length of the lines of a commit, in UTF-16 units. */
const maxCommitSize = 1024 * 1024;

export type ImportHolders = {
  /** Holds the sessions while they are being written. */
  readonly writing: Holder;
  /** Holds the first session once all sessions are written. */
  readonly written: Holder;
};

/** @param sum the checksum of the export */
export function createImportHolders(sum: string): ImportHolders {
  return { writing: createImportHolder(`import ${sum}`), written: createImportHolder(`imported ${sum}`) };
}

type ClaimedSession = { readonly lease: Lease; readonly seq: number };

/** Claims a session that is free or already held by this import. @throws PawlError `session_busy` */
export async function claimForImport(
  store: Store,
  sessionId: string,
  holder: Holder,
  previousHolder: Holder,
  now = Date.now(),
): Promise<ClaimedSession> {
  const isDead = ({ id }: Holder) => id === previousHolder.id;
  const claimed = await store.claim(sessionId, { holder, now, leaseMs, isDead });
  if (claimed.type === "held") throw sessionExistsError(sessionId);
  return { lease: claimed.lease, seq: claimed.seq };
}

export function sessionExistsError(sessionId: string): PawlError {
  return new PawlError(
    "session_busy",
    `The store already has a session ${sessionId}, so nothing was imported. Delete it first, or import into another store.`,
  );
}

/** The session being written. */
type SessionWriter = {
  readonly head: SessionHead;
  readonly lease: Lease;
  /** The last entry that was written. */
  seq: number;
  pending: Event[];
  pendingSize: number;
  state: State;
  /** The messages in its inbox that have delivered signals to its waits, by the name of the wait. */
  readonly signals: Map<string, string>;
};

export type ImportWriter = { readonly write: (item: Exclude<ExportItem, { readonly type: "end" }>) => Promise<void> };

export function createImportWriter(store: Store, holder: Holder): ImportWriter {
  let current: SessionWriter | null = null;
  const session = (): SessionWriter => {
    if (current === null) throw new PawlError("internal", "The export has content that belongs to no session.");
    return current;
  };
  return {
    async write(item) {
      switch (item.type) {
        case "session": {
          const { sessionId, createdAt } = item.session;
          // The time of the first claim becomes the session's creation time.
          const { lease, seq } = await claimForImport(store, sessionId, holder, holder, createdAt);
          if (seq > item.session.entries) throw sessionExistsError(sessionId);
          current = {
            head: item.session,
            lease,
            seq,
            pending: [],
            pendingSize: 0,
            state: initialState,
            signals: new Map(),
          };
          return;
        }
        case "blob":
          await store.putBlob(session().head.sessionId, item.bytes);
          return;
        case "entry":
          return addEntry(store, session(), item);
        case "log_end":
          return endLog(store, session(), item.state);
        case "message":
          await store.post(session().head.sessionId, item.message);
          recordSignal(session(), item.message);
          return;
        case "schedule":
          return putSchedule(store, item.row);
        case "signal":
          if (store.signals === undefined) throw noSignalsError();
          if ((await store.signals.send(item.signal)).type === "full") throw signalFullError(item.signal.key);
          return;
        case "taken":
          return recordIds(store, session(), item.ids);
        case "closed":
          await commitActivity(store, session());
          current = null;
          return;
      }
    },
  };
}

async function addEntry(
  store: Store,
  session: SessionWriter,
  item: Extract<ExportItem, { type: "entry" }>,
): Promise<void> {
  const { entry, state, size } = item;
  if (entry.seq > session.seq + session.pending.length) {
    const isFull = session.pending.length >= maxEntriesPerCommit || session.pendingSize + size > maxCommitSize;
    if (isFull && session.pending.length > 0) await flush(store, session, session.pending.at(-1)?.at ?? 0);
    session.pending.push(entry.event);
    session.pendingSize += size;
  }
  session.state = state;
}

async function endLog(store: Store, session: SessionWriter, state: State | null): Promise<void> {
  if (state === null) return;
  session.state = state;
  if (session.pending.length > 0) await flush(store, session, session.head.updatedAt);
}

async function flush(store: Store, session: SessionWriter, at: number): Promise<void> {
  await commit(store, session, { ...createRestingCommit(session), events: session.pending, at });
  session.seq += session.pending.length;
  session.pending = [];
  session.pendingSize = 0;
}

/** A commit that does not make the session due yet. */
function createRestingCommit({ seq, state, head }: SessionWriter): Commit {
  return { expectedSeq: seq, events: [], state, at: head.updatedAt, activity: "resting", dueAt: null, askedAt: null };
}

/** Marks ids as taken, except those that an earlier attempt has already marked. */
async function recordIds(store: Store, session: SessionWriter, ids: readonly string[]): Promise<void> {
  const result = await store.commit(session.lease, { ...createRestingCommit(session), record: ids });
  if (result.type !== "duplicate") return checkOutcome(session, result.type);
  const recorded = await readMessageIds(store, session.head.sessionId);
  const missing = ids.filter((id) => !recorded.has(id));
  if (missing.length > 0) await commit(store, session, { ...createRestingCommit(session), record: missing });
}

async function readMessageIds(store: Store, sessionId: string): Promise<ReadonlySet<string>> {
  const ids = new Set<string>();
  for (let after: string | undefined; ; ) {
    const page = await store.messageIds(sessionId, { limit: maxIdsPerLine, ...(after === undefined ? {} : { after }) });
    for (const id of page) ids.add(id);
    after = page.at(-1);
    if (after === undefined) return ids;
  }
}

function recordSignal({ signals }: SessionWriter, { id, body }: InboxMessage): void {
  if (isSignalMessage(id) && body.type === "answer" && body.questionId !== undefined)
    signals.set(nameOfWait({ callKey: body.callKey, step: body.questionId }), id);
}

/** Writes when the session is due, since when it asks and what it waits for, as in its last commit in the source. */
async function commitActivity(store: Store, session: SessionWriter): Promise<void> {
  const { state, head } = session;
  if (head.entries === 0) return;
  const activity = activityOf(state);
  await commit(store, session, {
    ...createRestingCommit(session),
    activity,
    dueAt: dueAt(state),
    askedAt: askedAt(state),
    // A wait whose signal is in the inbox does not get another one.
    waits: signalWaits(state).map((wait) => ({
      ...wait,
      ...defined({ given: session.signals.get(nameOfWait(wait)) }),
    })),
  });
}

async function commit(store: Store, session: SessionWriter, row: Commit): Promise<void> {
  checkOutcome(session, (await store.commit(session.lease, row)).type);
}

function checkOutcome({ head: { sessionId } }: SessionWriter, outcome: string): void {
  if (outcome === "ok") return;
  if (outcome === "busy")
    throw new PawlError(
      "store_failed",
      `The store is busy. Import the same export again: it continues with session ${sessionId}.`,
    );
  throw sessionExistsError(sessionId);
}

async function putSchedule(store: Store, { last, ...row }: ImportedSchedule): Promise<void> {
  const { schedules } = store;
  if (schedules === undefined)
    throw new PawlError(
      "store_lacks",
      "The export has schedules, but this store does not support them: it has no `schedules`. Import it into one of Pawl's stores.",
    );
  const put = await schedules.put(row);
  if (put.type === "ok") return putLastRun(schedules, row, last);
  if (put.type === "full")
    throw new PawlError(
      "schedule_full",
      "The store has reached its limit of schedules. Remove some, and import the export again.",
    );
  // An earlier attempt of this import may have written it.
  const stored = await schedules.get(row.id);
  if (isSameJson(stored?.body ?? null, row.body))
    return stored?.last === undefined ? putLastRun(schedules, row, last) : undefined;
  throw new PawlError(
    "schedule_exists",
    `The store has a different schedule ${row.id}, so the export was only partly imported. Remove that schedule, and import the export again.`,
  );
}

/** While its last run is under way, a schedule skips its slots. Does nothing if a worker has fired the schedule since. */
async function putLastRun(
  schedules: ScheduleStore,
  { id, rev, slot, dueAt }: PutRow,
  last: PostedRun | undefined,
): Promise<void> {
  if (last === undefined) return;
  const next = slot === null || dueAt === null ? null : { slot, dueAt };
  await schedules.fire({ id, rev, slot, next, outcomes: [], posts: [], last });
}

function noSignalsError(): PawlError {
  return new PawlError(
    "store_lacks",
    "The export has signals, but this store does not support them: it has no `signals`. Import it into one of Pawl's stores.",
  );
}

function signalFullError(key: string): PawlError {
  return new PawlError(
    "signal_full",
    `The store has reached its limit of signals with the key "${key}", so the export was only partly imported. Import it into an empty store, or wait until some signals expire and import it again.`,
  );
}

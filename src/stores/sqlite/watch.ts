/**
 * Detects changes by other processes. SQLite reports cheaply whether there were any; only then are the sessions looked up.
 *
 * 1. A failed poll loses nothing: the next poll compares with the last successful one. If there is none yet, or if the file cannot be read,
 *    a gap is reported.
 * 2. A deleted session leaves no row, but the number of deleted sessions is known. If it has grown, a gap is reported.
 *
 * A process commits only to sessions that it holds. A session with a new commit was therefore held at the last poll, is held now, or was
 * claimed in between (epochs are counted per store). A new message has a higher number than the last one seen.
 */
import type { StoreChange } from "../../ports/store.js";
import type { Watchers } from "../shared/watchers.js";
import { decodeColumn, isBusy, type SqliteBytes } from "./driver.js";
import type { Database } from "./schema.js";

type WatchState = {
  readonly dataVersion: number;
  readonly epoch: number;
  readonly message: number;
  /** The last commit of each held session. */
  readonly tails: ReadonlyMap<string, number | null>;
};

/** Counting the sessions reads an index of all of them. It takes at most this part of the time. */
const countingPart = 1 / 200;
/** The minimum time between two counts, in milliseconds: each gap makes all followers read, and many sessions may be deleted at once. */
const minCountGapMs = 1_000;

/** Polls every `intervalMs` milliseconds while there are listeners. Call `start` after adding one. */
export function createPoller(
  db: Database,
  watchers: Watchers,
  read: <Result>(work: () => Result) => Result,
  intervalMs: number,
): { start(): void; stop(): void } {
  let timer: NodeJS.Timeout | null = null;
  let state: WatchState | null = null;
  /** Whether a poll failed before the first success, so that listeners may have missed changes. */
  let needsGap = false;
  const deletions = createDeletionCount(db);
  const stop = (): void => {
    if (timer !== null) clearInterval(timer);
    timer = null;
  };
  const poll = (): void => {
    if (watchers.count() === 0) {
      stop();
      return;
    }
    try {
      const { changed, isDeleted } = read(() => {
        const changed = readDataVersion(db) === state?.dataVersion ? null : readChanges(db, state);
        if (changed !== null) deletions.markStale();
        return { changed, isDeleted: deletions.hasGrown() };
      });
      if (needsGap || isDeleted) watchers.notify({ gap: true });
      needsGap = false;
      if (changed === null) return;
      state = changed.state;
      for (const change of changed.changes) watchers.notify(change);
    } catch (error) {
      needsGap ||= state === null;
      // A gap makes followers read their session, so that they get the error.
      if (!isBusy(error)) watchers.notify({ gap: true });
    }
  };
  return {
    start() {
      if (timer !== null) return;
      state = null;
      needsGap = false;
      deletions.markStale();
      poll();
      timer = setInterval(poll, intervalMs);
      timer.unref();
    },
    stop,
  };
}

/** Counts deleted sessions after the store has changed. */
function createDeletionCount({ statements }: Database) {
  let known: number | null = null;
  let isStale = true;
  let nextAt = Number.NEGATIVE_INFINITY;
  return {
    markStale() {
      isStale = true;
    },
    /** Whether sessions were deleted since the last count. A change that comes too early is looked at later. */
    hasGrown(): boolean {
      const startedAt = performance.now();
      if (!isStale || startedAt < nextAt) return false;
      const { count } = statements.deletedSessions.get() as { readonly count: number };
      const endedAt = performance.now();
      nextAt = endedAt + Math.max(minCountGapMs, (endedAt - startedAt) / countingPart);
      isStale = false;
      const isMore = known !== null && count > known;
      known = count;
      return isMore;
    },
  };
}

function readChanges(
  db: Database,
  previous: WatchState | null,
): { readonly state: WatchState; readonly changes: readonly StoreChange[] } {
  const { statements } = db;
  const heldRows = statements.heldTails.all() as readonly {
    readonly name: SqliteBytes;
    readonly tail: number | null;
  }[];
  const state: WatchState = {
    dataVersion: readDataVersion(db),
    epoch: (statements.epoch.get() as { readonly epoch: number }).epoch,
    message: (statements.lastMessage.get() as { readonly number: number }).number,
    tails: new Map(heldRows.map((row) => [decodeColumn(row.name), row.tail])),
  };
  return { state, changes: previous === null ? [] : diffChanges(db, previous, state) };
}

function diffChanges({ statements }: Database, previous: WatchState, current: WatchState): readonly StoreChange[] {
  type NamedRows = readonly { readonly name: SqliteBytes }[];
  const committed = new Set<string>();
  for (const [sessionId, tail] of previous.tails) if (current.tails.get(sessionId) !== tail) committed.add(sessionId);
  for (const row of statements.claimedSince.all(previous.epoch) as NamedRows) committed.add(decodeColumn(row.name));
  const posted = (statements.postedSince.all(previous.message) as NamedRows).map((row) => decodeColumn(row.name));
  return [
    ...[...committed].map((sessionId) => ({ sessionId, in: "log" }) as const),
    ...posted.map((sessionId) => ({ sessionId, in: "inbox" }) as const),
  ];
}

function readDataVersion(db: Database): number {
  return (db.statements.dataVersion.get() as { readonly data_version: number }).data_version;
}

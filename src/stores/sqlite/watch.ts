/**
 * Detects changes by other processes. SQLite reports cheaply whether there were any; only then are the sessions looked up.
 *
 * 1. A failed poll loses nothing: the next poll compares with the last successful one. If there is none yet, or if the file cannot be read,
 *    a gap is reported.
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
      const result = read(() => (readDataVersion(db) === state?.dataVersion ? null : readChanges(db, state)));
      if (result === null) return;
      state = result.state;
      if (needsGap) watchers.notify({ gap: true });
      needsGap = false;
      for (const change of result.changes) watchers.notify(change);
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
      poll();
      timer = setInterval(poll, intervalMs);
      timer.unref();
    },
    stop,
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

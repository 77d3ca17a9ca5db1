/**
 * Changes by other processes. SQLite tells cheaply whether there were any; only then the sessions are looked up.
 *
 * 1. A look that fails loses nothing: the next one compares with the last that succeeded. If there is none yet, or if the
 *    file cannot be read, a gap is told.
 *
 * A process commits only to sessions that it holds. So a session with a new commit was held at the last look, is held now, or was
 * claimed in between (epochs count for the whole store). A message that was posted since has a higher number than the last one seen.
 */
import type { StoreChange } from "../../ports/store.js";
import type { Watchers } from "../shared/watchers.js";
import { isBusy, type SqliteBytes, textOf } from "./driver.js";
import type { Database } from "./sessions.js";

type Seen = {
  readonly dataVersion: number;
  readonly epoch: number;
  readonly message: number;
  /** The last commit of each session that is held. */
  readonly tails: ReadonlyMap<string, number | null>;
};

/** Looks every `everyMs` milliseconds while there are listeners; call `start` when one was added. */
export function createPolling(
  db: Database,
  watchers: Watchers,
  read: <Result>(work: () => Result) => Result,
  everyMs: number,
): { start(): void; stop(): void } {
  let timer: NodeJS.Timeout | null = null;
  let seen: Seen | null = null;
  /** Whether somebody has listened since before the first look. */
  let isLate = false;
  const stop = (): void => {
    if (timer !== null) clearInterval(timer);
    timer = null;
  };
  const tick = (): void => {
    if (watchers.count() === 0) {
      stop();
      return;
    }
    try {
      const found = read(() => (dataVersionOf(db) === seen?.dataVersion ? null : look(db, seen)));
      if (found === null) return;
      seen = found.seen;
      if (isLate) watchers.notify({ gap: true });
      isLate = false;
      for (const change of found.changes) watchers.notify(change);
    } catch (error) {
      isLate ||= seen === null;
      // Anyone who follows a session looks at it then, and is told what is wrong.
      if (!isBusy(error)) watchers.notify({ gap: true });
    }
  };
  return {
    start() {
      if (timer !== null) return;
      seen = null;
      isLate = false;
      tick();
      timer = setInterval(tick, everyMs);
      timer.unref();
    },
    stop,
  };
}

function look(db: Database, before: Seen | null): { readonly seen: Seen; readonly changes: readonly StoreChange[] } {
  const { statements } = db;
  const held = statements.heldTails.all() as readonly { readonly name: SqliteBytes; readonly tail: number | null }[];
  const seen: Seen = {
    dataVersion: dataVersionOf(db),
    epoch: (statements.epoch.get() as { readonly epoch: number }).epoch,
    message: (statements.lastMessage.get() as { readonly number: number }).number,
    tails: new Map(held.map((row) => [textOf(row.name), row.tail])),
  };
  return { seen, changes: before === null ? [] : changesSince(db, before, seen) };
}

function changesSince({ statements }: Database, before: Seen, now: Seen): readonly StoreChange[] {
  type Named = readonly { readonly name: SqliteBytes }[];
  const committed = new Set<string>();
  for (const [sessionId, tail] of before.tails) if (now.tails.get(sessionId) !== tail) committed.add(sessionId);
  for (const row of statements.claimedSince.all(before.epoch) as Named) committed.add(textOf(row.name));
  const posted = (statements.postedSince.all(before.message) as Named).map((row) => textOf(row.name));
  return [
    ...[...committed].map((sessionId) => ({ sessionId, in: "log" }) as const),
    ...posted.map((sessionId) => ({ sessionId, in: "inbox" }) as const),
  ];
}

function dataVersionOf(db: Database): number {
  return (db.statements.dataVersion.get() as { readonly data_version: number }).data_version;
}

/**
 * Changes by other processes: reported by `NOTIFY`, and also found by polling, because a notification may be lost.
 *
 * 1. A notification is sent after a commit, never within it, because the server would serialize the commits.
 * 2. A poll begins at the horizon of the previous poll: the oldest transaction that was in flight then. It therefore finds every row that
 *    has become visible since, in whatever order.
 * 3. Changes that a poll cannot find (too many at once, or a server that was reset to an earlier state) are reported as a gap.
 * 4. No poll finds that a session was deleted, because nothing is left of it. If its notification may have been lost, a gap is reported.
 */
import { randomUUID } from "node:crypto";
import type { Watchers } from "../shared/watchers.js";
import { isTransient } from "./client.js";
import type { Database } from "./statements.js";

/** A separate connection that listens for notifications. */
export type NotificationListener = {
  /** Resolves once it is listening. `onReconnect` is called when it is listening again after a lost connection. */
  readonly listen: (channel: string, onMessage: (payload: string) => void, onReconnect: () => void) => Promise<void>;
  readonly close: () => Promise<void>;
};

/** The number of a commit, or the id of a message. */
export type ChangeKey = { readonly sessionId: string; readonly in: "log" | "inbox"; readonly key: string };

export type Watch = {
  readonly start: () => void;
  /** Reports a change by this process to the listeners in this process and to other processes. */
  readonly notifyAll: (change: ChangeKey) => void;
  /** The same for a session that this process has deleted. To other processes, this is a change of its log. */
  readonly notifyDeleted: (sessionId: string) => void;
  readonly stop: () => Promise<void>;
};

/** How long changes are collected before they are sent, in milliseconds. */
const batchMs = 20;
/**
 * The minimum time between a notification and the next one about commits. To follow a session that commits constantly, 20 times a second is
 * enough. Messages are not delayed, because their senders wait for the result.
 */
const minCommitGapMs = 50;
/** How often a gap is reported, in milliseconds, because no poll finds deleted sessions: without notifications, and with them. */
const gapEveryMs = { polling: 60_000, listening: 600_000 } as const;
/** PostgreSQL limits a notification to 8,000 bytes. */
const maxBytes = 7_000;
/** If a poll finds more changes than this, in the logs or in the inboxes, it reports a gap. */
const maxChanges = 1_000;

type ChangeRow = {
  readonly horizon: string;
  readonly part: "log" | "inbox" | null;
  readonly name: string | null;
  readonly key: string | null;
};

type WatchOptions = {
  readonly channel: string;
  readonly notifications: NotificationListener | null;
  readonly pollMs: number;
};

/** Resolves once it listens for notifications. @throws the server's errors */
export async function createWatch(
  db: Database,
  watchers: Watchers,
  { channel, notifications, pollMs }: WatchOptions,
): Promise<Watch> {
  const senderId = randomUUID();
  const pendingChanges = new Set<string>();
  const poller = await createChangePoller(db, watchers);
  let pendingFlush: { readonly timer: NodeJS.Timeout; readonly end: number } | null = null;
  let lastFlushedAt = Number.NEGATIVE_INFINITY;
  let flushing: Promise<void> = Promise.resolve();
  let timers: readonly NodeJS.Timeout[] = [];

  async function flush(): Promise<void> {
    pendingFlush = null;
    lastFlushedAt = performance.now();
    const changes = [...pendingChanges];
    pendingChanges.clear();
    // Only a hint: a process that misses it finds the changes by polling.
    for (const payload of buildPayloads(senderId, changes))
      await db.query(db.statements.notify, [channel, payload]).catch(() => {});
  }

  /** Sends the collected changes after this time, unless they are due earlier. */
  function flushWithin(ms: number): void {
    const end = performance.now() + ms;
    if (pendingFlush !== null && pendingFlush.end <= end) return;
    if (pendingFlush !== null) clearTimeout(pendingFlush.timer);
    const timer = setTimeout(() => {
      flushing = flush();
    }, ms);
    pendingFlush = { timer, end };
  }

  function onNotification(payload: string): void {
    const changes: unknown = tryParse(payload);
    if (!Array.isArray(changes) || changes[0] === senderId) return;
    for (const change of changes.slice(1))
      if (typeof change === "string")
        watchers.notify({ in: change.startsWith("l") ? "log" : "inbox", sessionId: change.slice(1) });
  }

  const pollIfWatched = () => {
    if (watchers.count() > 0) void poller.poll();
  };
  const reportGap = () => watchers.notify({ gap: true });
  await notifications?.listen(channel, onNotification, () => {
    reportGap();
    pollIfWatched();
  });

  return {
    start() {
      if (timers.length > 0) return;
      timers = [
        setInterval(pollIfWatched, pollMs),
        setInterval(reportGap, gapEveryMs[notifications === null ? "polling" : "listening"]),
      ];
      for (const timer of timers) timer.unref();
    },
    notifyAll(change) {
      const { sessionId, in: part } = change;
      if (watchers.count() > 0) poller.markReported(change);
      watchers.notify({ sessionId, in: part });
      pendingChanges.add(`${part === "log" ? "l" : "i"}${sessionId}`);
      flushWithin(part === "inbox" ? batchMs : Math.max(batchMs, lastFlushedAt + minCommitGapMs - performance.now()));
    },
    notifyDeleted(sessionId) {
      watchers.notify({ sessionId });
      pendingChanges.add(`l${sessionId}`);
      flushWithin(batchMs);
    },
    async stop() {
      for (const timer of timers) clearInterval(timer);
      if (pendingFlush !== null) {
        clearTimeout(pendingFlush.timer);
        flushing = flush();
      }
      await flushing;
      await notifications?.close();
    },
  };
}

type ChangePoller = {
  readonly poll: () => Promise<void>;
  /** Records a change by this process, which its listeners already know about. */
  readonly markReported: (change: ChangeKey) => void;
};

/** Polls for changes from now on. @throws the server's errors */
async function createChangePoller(db: Database, watchers: Watchers): Promise<ChangePoller> {
  const initial = (await db.query(db.statements.horizon)).rows as readonly Pick<ChangeRow, "horizon">[];
  let horizon = BigInt(initial[0]?.horizon ?? 0);
  /** The changes since the horizon that the listeners know about, and those reported since the last poll began. */
  let knownIds: ReadonlySet<string> = new Set();
  let reported = new Set<string>();
  let inFlight: Promise<void> | null = null;

  async function pollOnce(): Promise<void> {
    const earlier = reported;
    reported = new Set();
    try {
      const { rows } = await db.query(db.statements.changes, [String(horizon), maxChanges + 1]);
      notifyAll(rows as readonly ChangeRow[], earlier);
    } catch (error) {
      // The next poll begins where this one did. A gap makes followers read their session, so that they get the error.
      for (const key of earlier) reported.add(key);
      if (!isTransient(error)) watchers.notify({ gap: true });
    }
  }

  function notifyAll(changes: readonly ChangeRow[], earlier: ReadonlySet<string>): void {
    const next = BigInt(changes[0]?.horizon ?? horizon);
    const exceedsLimit = (part: ChangeRow["part"]) => changes.filter((row) => row.part === part).length > maxChanges;
    const isGap = next < horizon || exceedsLimit("log") || exceedsLimit("inbox");
    const ids = new Set<string>();
    for (const { part, name, key } of changes) {
      // A session without a name has been deleted since.
      if (part === null || name === null || key === null) continue;
      const change = { sessionId: name, in: part, key };
      const id = formatChangeId(change);
      ids.add(id);
      // A change by this process may have been reported while the query ran.
      const isReported = knownIds.has(id) || earlier.has(id) || reported.has(id);
      if (!isGap && !isReported) watchers.notify({ sessionId: name, in: part });
    }
    if (isGap) watchers.notify({ gap: true });
    knownIds = ids;
    horizon = next;
  }

  return {
    poll() {
      inFlight ??= pollOnce().finally(() => {
        inFlight = null;
      });
      return inFlight;
    },
    markReported: (change) => void reported.add(formatChangeId(change)),
  };
}

function formatChangeId({ sessionId, in: part, key }: ChangeKey): string {
  return JSON.stringify([part, sessionId, key]);
}

/** Packs changes into as few notifications as possible. */
function buildPayloads(senderId: string, changes: readonly string[]): readonly string[] {
  const payloads: string[] = [];
  for (let start = 0; start < changes.length; ) {
    let end = start;
    for (let bytes = 2; end < changes.length; end += 1) {
      bytes += Buffer.byteLength(JSON.stringify(changes[end])) + 1;
      if (bytes > maxBytes && end > start) break;
    }
    payloads.push(JSON.stringify([senderId, ...changes.slice(start, end)]));
    start = end;
  }
  return payloads;
}

function tryParse(payload: string): unknown {
  try {
    return JSON.parse(payload);
  } catch {
    return null;
  }
}

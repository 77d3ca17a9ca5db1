/**
 * Changes by other processes: told by `NOTIFY`, and looked for behind it, because a notification may be lost.
 *
 * 1. A notification is sent beside commits, never within one: the server would commit one after another.
 * 2. A look begins at the horizon of the one before: the oldest transaction that was under way then. So it finds every row that has
 *    become visible since, in whichever order they did.
 * 3. What a look cannot find (too much at once, a server that was set back) is told as a gap.
 */
import { randomUUID } from "node:crypto";
import type { Watchers } from "../shared/watchers.js";
import { isTransient } from "./client.js";
import type { Database } from "./group.js";

/** A connection of its own that hears notifications. */
export type NotificationListener = {
  /** Resolves when it hears. `onReturn` is called when it hears again, after a time without. */
  readonly listen: (channel: string, onMessage: (payload: string) => void, onReconnect: () => void) => Promise<void>;
  readonly close: () => Promise<void>;
};

/** The number of a commit, or the id of a message. */
export type ChangeKey = { readonly sessionId: string; readonly in: "log" | "inbox"; readonly key: string };

export type Watch = {
  readonly start: () => void;
  /** Tells the listeners of this process, and other processes, of a change by this one. */
  readonly notifyAll: (change: ChangeKey) => void;
  readonly stop: () => Promise<void>;
};

/** Milliseconds in which changes are gathered before they are told. */
const batchMs = 20;
/**
 * So long after the last notification, at least, the next one tells of commits: for whoever follows a session that goes on and on, 20
 * times a second will do. A message is not kept back: somebody waits for what it starts.
 */
const minCommitGapMs = 50;
/** A notification holds 8,000 bytes at most. */
const maxBytes = 7_000;
/** If more has changed, in the logs or in the inboxes, there is a gap. */
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

/** Resolves when notifications are heard. @throws what the server throws */
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
  let pollTimer: NodeJS.Timeout | null = null;

  async function flush(): Promise<void> {
    pendingFlush = null;
    lastFlushedAt = performance.now();
    const changes = [...pendingChanges];
    pendingChanges.clear();
    // A hint: who misses it looks for changes by itself.
    for (const payload of buildPayloads(senderId, changes))
      await db.query(db.statements.notify, [channel, payload]).catch(() => {});
  }

  /** Tells what is gathered in so many milliseconds, unless it is to be told before. */
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
  await notifications?.listen(channel, onNotification, pollIfWatched);

  return {
    start() {
      if (pollTimer !== null) return;
      pollTimer = setInterval(pollIfWatched, pollMs);
      pollTimer.unref();
    },
    notifyAll(change) {
      const { sessionId, in: part } = change;
      if (watchers.count() > 0) poller.markReported(change);
      watchers.notify({ sessionId, in: part });
      pendingChanges.add(`${part === "log" ? "l" : "i"}${sessionId}`);
      flushWithin(part === "inbox" ? batchMs : Math.max(batchMs, lastFlushedAt + minCommitGapMs - performance.now()));
    },
    async stop() {
      if (pollTimer !== null) clearInterval(pollTimer);
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
  /** The listeners know of this change: it is by this process. */
  readonly markReported: (change: ChangeKey) => void;
};

/** Looks for changes from now on. @throws what the server throws */
async function createChangePoller(db: Database, watchers: Watchers): Promise<ChangePoller> {
  const initial = (await db.query(db.statements.horizon)).rows as readonly Pick<ChangeRow, "horizon">[];
  let horizon = BigInt(initial[0]?.horizon ?? 0);
  /** What the listeners know of the rows from the horizon on; and what they were told since the last look began. */
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
      // The next look begins where this one did. Anyone who follows a session looks at it, and is told what is wrong.
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
      // A session without a name was deleted since.
      if (part === null || name === null || key === null) continue;
      const change = { sessionId: name, in: part, key };
      const id = formatChangeId(change);
      ids.add(id);
      // A change by this process may have been told while the server looked.
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

/** Changes in as few notifications as possible. */
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

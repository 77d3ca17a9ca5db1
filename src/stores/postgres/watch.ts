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
import { isPassing } from "./client.js";
import type { Database } from "./group.js";

/** A connection of its own that hears notifications. */
export type Listening = {
  /** Resolves when it hears. `onReturn` is called when it hears again, after a time without. */
  readonly listen: (channel: string, onMessage: (payload: string) => void, onReturn: () => void) => Promise<void>;
  readonly close: () => Promise<void>;
};

/** The number of a commit, or the id of a message. */
export type ChangeKey = { readonly sessionId: string; readonly in: "log" | "inbox"; readonly key: string };

export type Watch = {
  readonly start: () => void;
  /** Tells the listeners of this process, and other processes, of a change by this one. */
  readonly tell: (change: ChangeKey) => void;
  readonly stop: () => Promise<void>;
};

/** Milliseconds in which changes are gathered before they are told. */
const gatherMs = 20;
/**
 * So long after the last notification, at least, the next one tells of commits: for whoever follows a session that goes on and on, 20
 * times a second will do. A message is not kept back: somebody waits for what it starts.
 */
const apartMs = 50;
/** A notification holds 8,000 bytes at most. */
const mostBytes = 7_000;
/** If more has changed, in the logs or in the inboxes, there is a gap. */
const mostChanges = 1_000;

type ChangeRow = {
  readonly horizon: string;
  readonly part: "log" | "inbox" | null;
  readonly name: string | null;
  readonly key: string | null;
};

type WatchOptions = {
  readonly channel: string;
  readonly listening: Listening | null;
  readonly pollMs: number;
};

/** Resolves when notifications are heard. @throws what the server throws */
export async function createWatch(
  db: Database,
  watchers: Watchers,
  { channel, listening, pollMs }: WatchOptions,
): Promise<Watch> {
  const own = randomUUID();
  const gathered = new Set<string>();
  const looking = await createLooking(db, watchers);
  let gathering: { readonly timer: NodeJS.Timeout; readonly end: number } | null = null;
  let lastTold = Number.NEGATIVE_INFINITY;
  let telling: Promise<void> = Promise.resolve();
  let polling: NodeJS.Timeout | null = null;

  async function flush(): Promise<void> {
    gathering = null;
    lastTold = performance.now();
    const changes = [...gathered];
    gathered.clear();
    // A hint: who misses it looks for changes by itself.
    for (const payload of payloadsOf(own, changes))
      await db.query(db.statements.notify, [channel, payload]).catch(() => {});
  }

  /** Tells what is gathered in so many milliseconds, unless it is to be told before. */
  function tellIn(ms: number): void {
    const end = performance.now() + ms;
    if (gathering !== null && gathering.end <= end) return;
    if (gathering !== null) clearTimeout(gathering.timer);
    const timer = setTimeout(() => {
      telling = flush();
    }, ms);
    gathering = { timer, end };
  }

  function hear(payload: string): void {
    const changes: unknown = parsed(payload);
    if (!Array.isArray(changes) || changes[0] === own) return;
    for (const change of changes.slice(1))
      if (typeof change === "string")
        watchers.notify({ in: change.startsWith("l") ? "log" : "inbox", sessionId: change.slice(1) });
  }

  const lookIfWatched = () => {
    if (watchers.count() > 0) void looking.look();
  };
  await listening?.listen(channel, hear, lookIfWatched);

  return {
    start() {
      if (polling !== null) return;
      polling = setInterval(lookIfWatched, pollMs);
      polling.unref();
    },
    tell(change) {
      const { sessionId, in: part } = change;
      if (watchers.count() > 0) looking.know(change);
      watchers.notify({ sessionId, in: part });
      gathered.add(`${part === "log" ? "l" : "i"}${sessionId}`);
      tellIn(part === "inbox" ? gatherMs : Math.max(gatherMs, lastTold + apartMs - performance.now()));
    },
    async stop() {
      if (polling !== null) clearInterval(polling);
      if (gathering !== null) {
        clearTimeout(gathering.timer);
        telling = flush();
      }
      await telling;
      await listening?.close();
    },
  };
}

type Looking = {
  readonly look: () => Promise<void>;
  /** The listeners know of this change: it is by this process. */
  readonly know: (change: ChangeKey) => void;
};

/** Looks for changes from now on. @throws what the server throws */
async function createLooking(db: Database, watchers: Watchers): Promise<Looking> {
  const marked = (await db.query(db.statements.horizon)).rows as readonly Pick<ChangeRow, "horizon">[];
  let horizon = BigInt(marked[0]?.horizon ?? 0);
  /** What the listeners know of the rows from the horizon on; and what they were told since the last look began. */
  let known: ReadonlySet<string> = new Set();
  let told = new Set<string>();
  let underWay: Promise<void> | null = null;

  async function find(): Promise<void> {
    const before = told;
    told = new Set();
    try {
      const { rows } = await db.query(db.statements.changes, [String(horizon), mostChanges + 1]);
      tell(rows as readonly ChangeRow[], before);
    } catch (error) {
      // The next look begins where this one did. Anyone who follows a session looks at it, and is told what is wrong.
      for (const key of before) told.add(key);
      if (!isPassing(error)) watchers.notify({ gap: true });
    }
  }

  function tell(changes: readonly ChangeRow[], before: ReadonlySet<string>): void {
    const next = BigInt(changes[0]?.horizon ?? horizon);
    const isTooMuch = (part: ChangeRow["part"]) => changes.filter((row) => row.part === part).length > mostChanges;
    const isGap = next < horizon || isTooMuch("log") || isTooMuch("inbox");
    const found = new Set<string>();
    for (const { part, name, key } of changes) {
      // A session without a name was deleted since.
      if (part === null || name === null || key === null) continue;
      const change = { sessionId: name, in: part, key };
      const id = idOf(change);
      found.add(id);
      // A change by this process may have been told while the server looked.
      const isTold = known.has(id) || before.has(id) || told.has(id);
      if (!isGap && !isTold) watchers.notify({ sessionId: name, in: part });
    }
    if (isGap) watchers.notify({ gap: true });
    known = found;
    horizon = next;
  }

  return {
    look() {
      underWay ??= find().finally(() => {
        underWay = null;
      });
      return underWay;
    },
    know: (change) => void told.add(idOf(change)),
  };
}

function idOf({ sessionId, in: part, key }: ChangeKey): string {
  return JSON.stringify([part, sessionId, key]);
}

/** Changes in as few notifications as possible. */
function payloadsOf(own: string, changes: readonly string[]): readonly string[] {
  const payloads: string[] = [];
  for (let start = 0; start < changes.length; ) {
    let end = start;
    for (let bytes = 2; end < changes.length; end += 1) {
      bytes += Buffer.byteLength(JSON.stringify(changes[end])) + 1;
      if (bytes > mostBytes && end > start) break;
    }
    payloads.push(JSON.stringify([own, ...changes.slice(start, end)]));
    start = end;
  }
  return payloads;
}

function parsed(payload: string): unknown {
  try {
    return JSON.parse(payload);
  } catch {
    return null;
  }
}

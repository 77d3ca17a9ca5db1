/**
 * Who watches the list of sessions: one watch of the store for all of them.
 *
 * 1. The newest sessions are looked at every few seconds, and after a gap of the store's watch. So what was missed is told
 *    late, and so is what no store tells: that a session has another holder, or none.
 * 2. Each watcher is told only of sessions that its principal may read.
 * 3. Changes are gathered, so a busy session costs a few frames a second, and nothing while nobody watches.
 */
import { pendingApprovals, type SessionInfo, type SessionSummary, type Store } from "../index.js";
import type { ApprovalCount, ListedSession, ListFrame } from "./client/index.js";

export type ListWatcher = {
  readonly tell: (frame: ListFrame) => void;
  /** Whether this session may be told of. */
  readonly mayRead: (sessionId: string, info: SessionInfo | null) => Promise<boolean>;
  /** Whether the principal may answer the calls of this session; null if it may answer none at all. */
  readonly mayAnswer: ((sessionId: string, info: SessionInfo | null) => Promise<boolean>) | null;
};

export type ListWatch = {
  /** Joins; gives how many calls wait by now, null for those who answer none. */
  readonly join: (watcher: ListWatcher) => Promise<ApprovalCount | null>;
  readonly leave: (watcher: ListWatcher) => void;
};

export type ListSource = {
  readonly store: Store;
  readonly infoOf: (summary: Pick<SessionSummary, "sessionId" | "info">) => Promise<SessionInfo | null>;
  readonly listed: (summary: SessionSummary, info: SessionInfo | null) => Promise<ListedSession>;
};

const gatherMs = 250;
const sweepMs = 5_000;
/** Sessions that a sweep looks at, and that may change at once before all lists are loaded again. */
const most = 200;
const mostApprovals = 500;

export function createListWatch({ store, infoOf, listed }: ListSource): ListWatch {
  const watchers = new Map<ListWatcher, ApprovalCount | null>();
  const changed = new Set<string>();
  const known = new Map<string, string>();
  let stop: (() => void) | null = null;
  let timer: ReturnType<typeof setTimeout> | null = null;
  let telling = false;

  function note(sessionId: string): void {
    changed.add(sessionId);
    if (timer === null && !telling) timer = setTimeout(() => void tell(), gatherMs);
  }

  function start(): () => void {
    const lookAgain = () => void sweep(true).catch(() => {});
    const unwatch = store.watch(({ sessionId }) => (sessionId === undefined ? lookAgain() : note(sessionId)));
    const sweeping = setInterval(lookAgain, sweepMs);
    void sweep(false).catch(() => {});
    return () => {
      unwatch();
      clearInterval(sweeping);
      if (timer !== null) clearTimeout(timer);
      timer = null;
      changed.clear();
      known.clear();
    };
  }

  async function sweep(isTold: boolean): Promise<void> {
    for (const { sessionId, seq, inbox, status, holder } of await store.list({ limit: most })) {
      const mark = `${seq} ${inbox} ${status} ${holder !== null}`;
      if (isTold && known.get(sessionId) !== mark) note(sessionId);
      known.set(sessionId, mark);
    }
    if (known.size > most * 10) known.clear();
  }

  async function tell(): Promise<void> {
    timer = null;
    telling = true;
    try {
      const ids = [...changed];
      changed.clear();
      if (ids.length > most) tellAll({ type: "list_changed" });
      else for (const id of ids) await tellOf(id);
      await tellApprovals();
    } catch {
      // The store does not answer. The sweep finds what was missed.
      known.clear();
    } finally {
      telling = false;
    }
    if (changed.size > 0 && watchers.size > 0) timer ??= setTimeout(() => void tell(), gatherMs);
  }

  async function tellOf(sessionId: string): Promise<void> {
    const summary = await store.describe(sessionId);
    // An id says something to nobody who might not have read the session: it is not told.
    if (summary === null) return tellAll({ type: "list_changed" });
    const info = await infoOf(summary);
    const frame: ListFrame = { type: "session", session: await listed(summary, info) };
    for (const watcher of [...watchers.keys()]) if (await watcher.mayRead(sessionId, info)) watcher.tell(frame);
  }

  function tellAll(frame: ListFrame): void {
    for (const watcher of watchers.keys()) watcher.tell(frame);
  }

  async function tellApprovals(): Promise<void> {
    for (const [watcher, now] of await countFor([...watchers.keys()])) {
      const last = watchers.get(watcher);
      if (last === undefined || (now.count === last?.count && now.more === last.more)) continue;
      watchers.set(watcher, now);
      watcher.tell({ type: "approvals", ...now });
    }
  }

  /** How many calls wait for each of those who may answer any. The list is read once for all of them. */
  async function countFor(some: readonly ListWatcher[]): Promise<ReadonlyMap<ListWatcher, ApprovalCount>> {
    const counts = new Map<ListWatcher, ApprovalCount>();
    for (const watcher of some) if (watcher.mayAnswer !== null) counts.set(watcher, { count: 0, more: false });
    const counting = new Set(counts.keys());
    if (counting.size === 0) return counts;
    for await (const { sessionId, session } of pendingApprovals(store)) {
      const info = await infoOf({ sessionId, info: session });
      for (const watcher of counting) {
        if (!(await watcher.mayAnswer?.(sessionId, info))) continue;
        const { count = 0 } = counts.get(watcher) ?? {};
        if (count === mostApprovals) counting.delete(watcher);
        counts.set(watcher, count === mostApprovals ? { count, more: true } : { count: count + 1, more: false });
      }
      if (counting.size === 0) break;
    }
    return counts;
  }

  return {
    async join(watcher) {
      watchers.set(watcher, null);
      stop ??= start();
      const count = (await countFor([watcher])).get(watcher) ?? null;
      if (watchers.has(watcher)) watchers.set(watcher, count);
      return count;
    },
    leave(watcher) {
      watchers.delete(watcher);
      if (watchers.size > 0 || stop === null) return;
      stop();
      stop = null;
    },
  };
}

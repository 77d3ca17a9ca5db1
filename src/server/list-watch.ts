/**
 * Notifies the watchers of the list of sessions, with one watch of the store for all of them.
 *
 * 1. The newest sessions are checked every few seconds, and after a gap in the store's watch. So missed changes are reported late.
 *    The same applies to changes of a session's holder, which stores do not report.
 * 2. Each watcher is notified only of sessions that its principal may read.
 * 3. Changes are batched, so a busy session costs a few frames per second, and nothing without watchers.
 */
import { pendingApprovals, type SessionInfo, type SessionSummary, type Store } from "../index.js";
import type { ApprovalCount, ListedSession, ListFrame } from "./client/index.js";

export type ListWatcher = {
  readonly notify: (frame: ListFrame) => void;
  /** Whether the watcher may be notified of this session. */
  readonly canRead: (sessionId: string, info: SessionInfo | null) => Promise<boolean>;
  /** Whether the principal may answer the calls of this session. Null if it may not answer any calls. */
  readonly canAnswer: ((sessionId: string, info: SessionInfo | null) => Promise<boolean>) | null;
};

export type ListWatch = {
  /** Adds a watcher; resolves to the number of waiting calls, or to null if the watcher may not answer any. */
  readonly addWatcher: (watcher: ListWatcher) => Promise<ApprovalCount | null>;
  readonly removeWatcher: (watcher: ListWatcher) => void;
};

export type ListWatchDeps = {
  readonly store: Store;
  readonly loadInfo: (summary: Pick<SessionSummary, "sessionId" | "info">) => Promise<SessionInfo | null>;
  readonly loadListedSession: (summary: SessionSummary, info: SessionInfo | null) => Promise<ListedSession>;
};

const gatherMs = 250;
const sweepMs = 5_000;
/** The number of sessions that a sweep checks. If more change at once, clients reload their lists. */
const maxSessions = 200;
const maxApprovals = 500;

export function createListWatch({ store, loadInfo, loadListedSession }: ListWatchDeps): ListWatch {
  const watchers = new Map<ListWatcher, ApprovalCount | null>();
  const changed = new Set<string>();
  const fingerprints = new Map<string, string>();
  let stop: (() => void) | null = null;
  let timer: ReturnType<typeof setTimeout> | null = null;
  let isNotifying = false;

  function markChanged(sessionId: string): void {
    changed.add(sessionId);
    if (timer === null && !isNotifying) timer = setTimeout(() => void notifyChanges(), gatherMs);
  }

  function startWatching(): () => void {
    const sweepAgain = () => void sweep(true).catch(() => {});
    const unwatch = store.watch(({ sessionId }) => (sessionId === undefined ? sweepAgain() : markChanged(sessionId)));
    const sweepTimer = setInterval(sweepAgain, sweepMs);
    void sweep(false).catch(() => {});
    return () => {
      unwatch();
      clearInterval(sweepTimer);
      if (timer !== null) clearTimeout(timer);
      timer = null;
      changed.clear();
      fingerprints.clear();
    };
  }

  async function sweep(shouldNotify: boolean): Promise<void> {
    for (const { sessionId, seq, inbox, status, holder } of await store.list({ limit: maxSessions })) {
      const fingerprint = `${seq} ${inbox} ${status} ${holder !== null}`;
      if (shouldNotify && fingerprints.get(sessionId) !== fingerprint) markChanged(sessionId);
      fingerprints.set(sessionId, fingerprint);
    }
    if (fingerprints.size > maxSessions * 10) fingerprints.clear();
  }

  async function notifyChanges(): Promise<void> {
    timer = null;
    isNotifying = true;
    try {
      const ids = [...changed];
      changed.clear();
      if (ids.length > maxSessions) notifyAll({ type: "list_changed" });
      else for (const id of ids) await notifyOfSession(id);
      await notifyApprovalCounts();
    } catch {
      // The store failed. The next sweep finds the missed changes.
      fingerprints.clear();
    } finally {
      isNotifying = false;
    }
    if (changed.size > 0 && watchers.size > 0) timer ??= setTimeout(() => void notifyChanges(), gatherMs);
  }

  async function notifyOfSession(sessionId: string): Promise<void> {
    const summary = await store.describe(sessionId);
    // The permission to read a deleted session cannot be checked, so its id is not sent.
    if (summary === null) return notifyAll({ type: "list_changed" });
    const info = await loadInfo(summary);
    const frame: ListFrame = { type: "session", session: await loadListedSession(summary, info) };
    for (const watcher of [...watchers.keys()]) if (await watcher.canRead(sessionId, info)) watcher.notify(frame);
  }

  function notifyAll(frame: ListFrame): void {
    for (const watcher of watchers.keys()) watcher.notify(frame);
  }

  async function notifyApprovalCounts(): Promise<void> {
    for (const [watcher, current] of await countApprovals([...watchers.keys()])) {
      const last = watchers.get(watcher);
      if (last === undefined || (current.count === last?.count && current.more === last.more)) continue;
      watchers.set(watcher, current);
      watcher.notify({ type: "approvals", ...current });
    }
  }

  /** Counts the waiting calls for each watcher that may answer any. The list is read once for all of them. */
  async function countApprovals(targets: readonly ListWatcher[]): Promise<ReadonlyMap<ListWatcher, ApprovalCount>> {
    const counts = new Map<ListWatcher, ApprovalCount>();
    for (const watcher of targets) if (watcher.canAnswer !== null) counts.set(watcher, { count: 0, more: false });
    const pendingWatchers = new Set(counts.keys());
    if (pendingWatchers.size === 0) return counts;
    for await (const { sessionId, session } of pendingApprovals(store)) {
      const info = await loadInfo({ sessionId, info: session });
      for (const watcher of pendingWatchers) {
        if (!(await watcher.canAnswer?.(sessionId, info))) continue;
        const { count = 0 } = counts.get(watcher) ?? {};
        if (count === maxApprovals) pendingWatchers.delete(watcher);
        counts.set(watcher, count === maxApprovals ? { count, more: true } : { count: count + 1, more: false });
      }
      if (pendingWatchers.size === 0) break;
    }
    return counts;
  }

  return {
    async addWatcher(watcher) {
      watchers.set(watcher, null);
      stop ??= startWatching();
      const count = (await countApprovals([watcher])).get(watcher) ?? null;
      if (watchers.has(watcher)) watchers.set(watcher, count);
      return count;
    },
    removeWatcher(watcher) {
      watchers.delete(watcher);
      if (watchers.size > 0 || stop === null) return;
      stop();
      stop = null;
    },
  };
}

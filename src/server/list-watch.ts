/**
 * Who watches the list of sessions: one watch of the store for all of them.
 *
 * 1. The store's watch is a hint. Every few seconds the newest sessions are looked at, so what was missed is told late.
 * 2. Each watcher is told only of sessions that its principal may read.
 * 3. Changes are gathered, so a busy session costs a few frames a second, and nothing while nobody watches.
 */
import { pendingApprovals, type SessionInfo, type SessionSummary, type Store } from "../index.js";
import type { ApprovalCount, ListFrame } from "./client/index.js";

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
  readonly listed: (
    summary: SessionSummary,
    info: SessionInfo | null,
  ) => Extract<ListFrame, { type: "session" }>["session"];
};

const gatherMs = 250;
const sweepMs = 5_000;
/** Sessions that a sweep looks at, and that may change at once before all lists are loaded anew. */
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
    const unwatch = store.watch(({ sessionId }) => note(sessionId));
    const sweeping = setInterval(() => void sweep(true).catch(() => {}), sweepMs);
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
      if (ids.length > most) for (const watcher of watchers.keys()) watcher.tell({ type: "list_changed" });
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
    const frame: ListFrame = { type: "session", session: listed(summary, info) };
    for (const watcher of [...watchers.keys()]) if (await watcher.mayRead(sessionId, info)) watcher.tell(frame);
  }

  function tellAll(frame: ListFrame): void {
    for (const watcher of watchers.keys()) watcher.tell(frame);
  }

  async function tellApprovals(): Promise<void> {
    for (const [watcher, last] of [...watchers]) {
      const now = await countFor(watcher);
      if (now === null || !watchers.has(watcher) || (now.count === last?.count && now.more === last.more)) continue;
      watchers.set(watcher, now);
      watcher.tell({ type: "approvals", ...now });
    }
  }

  async function countFor({ mayAnswer }: ListWatcher): Promise<ApprovalCount | null> {
    if (mayAnswer === null) return null;
    let count = 0;
    for await (const { sessionId, session } of pendingApprovals(store)) {
      if (!(await mayAnswer(sessionId, await infoOf({ sessionId, info: session })))) continue;
      if (count === mostApprovals) return { count, more: true };
      count += 1;
    }
    return { count, more: false };
  }

  return {
    async join(watcher) {
      watchers.set(watcher, null);
      stop ??= start();
      const count = await countFor(watcher);
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

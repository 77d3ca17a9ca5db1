/**
 * Tells the followers of this process when the store says that their session changed: one listener of the store for all
 * of them, and none while nobody follows.
 */
import type { Store, StoreChange } from "../../ports/store.js";

type Heed = (change: StoreChange) => void;

export type WatchedLogs = {
  readonly store: Store;
  /** By session. It has one follower, or two for as long as somebody still reads what another has opened again. */
  readonly followers: Map<string, readonly Heed[]>;
  stop: (() => void) | null;
};

export function createWatchedLogs(store: Store): WatchedLogs {
  return { store, followers: new Map(), stop: null };
}

/** Call the returned function to stop. */
export function watchLog(logs: WatchedLogs, sessionId: string, heed: Heed): () => void {
  const { followers } = logs;
  followers.set(sessionId, [...(followers.get(sessionId) ?? []), heed]);
  logs.stop ??= logs.store.watch((change) => tell(logs, change));
  return () => {
    const others = (followers.get(sessionId) ?? []).filter((other) => other !== heed);
    if (others.length > 0) followers.set(sessionId, others);
    else followers.delete(sessionId);
    if (followers.size > 0) return;
    logs.stop?.();
    logs.stop = null;
  };
}

function tell({ followers }: WatchedLogs, change: StoreChange): void {
  const told = change.gap === true ? [...followers.values()].flat() : (followers.get(change.sessionId) ?? []);
  for (const heed of told) heed(change);
}

/**
 * Tells the followers of this process when the store says that their session changed: one listener of the store for all
 * of them, and none while nobody follows.
 */
import type { Store, StoreChange } from "../../ports/store.js";

type ChangeListener = (change: StoreChange) => void;

export type WatchedLogs = {
  readonly store: Store;
  /** By session. It has one follower, or two for as long as somebody still reads what another has opened again. */
  readonly followers: Map<string, readonly ChangeListener[]>;
  stop: (() => void) | null;
};

export function createWatchedLogs(store: Store): WatchedLogs {
  return { store, followers: new Map(), stop: null };
}

/** Call the returned function to stop. */
export function watchLog(logs: WatchedLogs, sessionId: string, listener: ChangeListener): () => void {
  const { followers } = logs;
  followers.set(sessionId, [...(followers.get(sessionId) ?? []), listener]);
  logs.stop ??= logs.store.watch((change) => notifyFollowers(logs, change));
  return () => {
    const others = (followers.get(sessionId) ?? []).filter((other) => other !== listener);
    if (others.length > 0) followers.set(sessionId, others);
    else followers.delete(sessionId);
    if (followers.size > 0) return;
    logs.stop?.();
    logs.stop = null;
  };
}

function notifyFollowers({ followers }: WatchedLogs, change: StoreChange): void {
  const listeners = change.gap === true ? [...followers.values()].flat() : (followers.get(change.sessionId) ?? []);
  for (const listener of listeners) listener(change);
}

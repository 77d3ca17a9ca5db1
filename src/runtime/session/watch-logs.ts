/**
 * Notifies the followers of this process when the store reports a change of their session. They share one store listener,
 * which exists only while there are followers.
 */
import type { Store, StoreChange } from "../../ports/store.js";

type ChangeListener = (change: StoreChange) => void;

export type WatchedLogs = {
  readonly store: Store;
  /** By session. There is one follower, or two while an old one still reads and the session is already open again. */
  readonly followers: Map<string, readonly ChangeListener[]>;
  stop: (() => void) | null;
};

export function createWatchedLogs(store: Store): WatchedLogs {
  return { store, followers: new Map(), stop: null };
}

/** Returns a function that stops watching. */
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

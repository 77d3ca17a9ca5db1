/**
 * The listeners of a store.
 */
import type { StoreChange } from "../../ports/store.js";

export type Watchers = {
  readonly count: () => number;
  readonly add: (listener: (change: StoreChange) => void) => () => void;
  /** Calls the listeners after the current work is done. An error of a listener must not fail a commit: it is thrown uncaught. */
  readonly notify: (change: StoreChange) => void;
  /** The store is closed: the listeners are notified of a gap, and of nothing after it. */
  readonly end: () => void;
};

type Listener = { readonly call: (change: StoreChange) => void };

export function createWatchers(): Watchers {
  const listeners = new Set<Listener>();
  return {
    count: () => listeners.size,
    add(call) {
      const listener = { call };
      listeners.add(listener);
      return () => {
        listeners.delete(listener);
      };
    },
    notify(change) {
      if (listeners.size > 0) queueMicrotask(() => callListeners(listeners, change));
    },
    end() {
      const remaining = new Set(listeners);
      listeners.clear();
      queueMicrotask(() => callListeners(remaining, { gap: true }));
    },
  };
}

/** Calls those that listen at this moment. If one throws, the others are still called. */
function callListeners(listeners: ReadonlySet<Listener>, change: StoreChange): void {
  for (const listener of listeners)
    try {
      listener.call(change);
    } catch (error) {
      queueMicrotask(() => {
        throw error;
      });
    }
}

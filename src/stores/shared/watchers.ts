/**
 * The listeners of a store.
 */
import type { StoreChange } from "../../ports/store.js";

export type Watchers = {
  readonly count: () => number;
  readonly add: (listener: (change: StoreChange) => void) => () => void;
  /**
   * Calls the listeners after the current work is done. A listener's error must not fail a commit, so it is thrown as an uncaught error.
   */
  readonly notify: (change: StoreChange) => void;
  /** Ends the watching when the store is closed: the listeners are notified of a gap, and are not called again. */
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

/** Calls the current listeners. If one throws, the others are still called. */
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

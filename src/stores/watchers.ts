/**
 * The listeners of a store.
 */
import type { Change } from "../ports/store.js";

export type Watchers = {
  readonly count: () => number;
  readonly add: (listener: (change: Change) => void) => () => void;
  /** Calls back after the present work is done; what a listener throws is nobody's commit, so it stays uncaught. */
  readonly notify: (sessionId: string) => void;
  readonly clear: () => void;
};

export function createWatchers(): Watchers {
  const listeners = new Set<{ readonly call: (change: Change) => void }>();
  return {
    count: () => listeners.size,
    add(call) {
      const listener = { call };
      listeners.add(listener);
      return () => {
        listeners.delete(listener);
      };
    },
    notify(sessionId) {
      for (const listener of listeners)
        queueMicrotask(() => {
          if (listeners.has(listener)) listener.call({ sessionId });
        });
    },
    clear: () => listeners.clear(),
  };
}

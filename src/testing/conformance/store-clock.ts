/**
 * Stores that use their own clock for leases, in tests whose time does not pass by itself.
 */
import type { Store } from "../../ports/store.js";

/** Sets the store's own clock before each operation that is given a time. */
export function withStoreClock(store: Store, setClock: ((now: number) => unknown) | undefined): Store {
  if (setClock === undefined) return store;
  const timed: Partial<Store> = {
    claim: async (sessionId, options) => {
      await setClock(options.now);
      return store.claim(sessionId, options);
    },
    renew: async (leases, now, leaseMs) => {
      await setClock(now);
      return store.renew(leases, now, leaseMs);
    },
    due: async (now, limit, isDead) => {
      await setClock(now);
      return store.due(now, limit, isDead);
    },
    delete: async (sessionId, options) => {
      await setClock(options.now);
      return store.delete(sessionId, options);
    },
  };
  // The store may be an instance of a class, whose methods need `this`.
  return new Proxy(store, {
    get(target, name: keyof Store) {
      const member = timed[name] ?? target[name];
      return typeof member === "function" && timed[name] === undefined ? member.bind(target) : member;
    },
  });
}

/**
 * PostgreSQL stores in the time of a test: a server's clock is its own, and here it is what the caller says.
 */
import type { Store } from "../../src/index.js";

/** A store whose server is told the time with each operation that goes by the clock of leases. */
export function inTimeOf(store: Store, at: (now: number) => Promise<unknown>): Store {
  return {
    ...store,
    claim: async (sessionId, options) => {
      await at(options.now);
      return store.claim(sessionId, options);
    },
    renew: async (leases, now, leaseMs) => {
      await at(now);
      return store.renew(leases, now, leaseMs);
    },
    due: async (now, limit, isDead) => {
      await at(now);
      return store.due(now, limit, isDead);
    },
    delete: async (sessionId, options) => {
      await at(options.now);
      return store.delete(sessionId, options);
    },
  };
}

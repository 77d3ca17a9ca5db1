/**
 * Adapts stores that use their own clock for leases to tests whose time does not pass by itself.
 */
import type { Store } from "../../ports/store.js";

/** Sets the store's own clock before each operation that takes a time. */
export function withStoreClock(store: Store, setClock: ((now: number) => unknown) | undefined): Store {
  if (setClock === undefined) return store;
  const { schedules } = store;
  const timed: Partial<Store> = {
    // A slot fires when its time has come, and not before.
    ...(schedules === undefined
      ? {}
      : {
          schedules: override(schedules, {
            fire: async (fire) => {
              if (fire.slot !== null) await setClock(fire.slot);
              return schedules.fire(fire);
            },
          }),
        }),
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
  return override(store, timed);
}

/** A proxy, because the object may be an instance of a class, whose methods need `this`. */
function override<Target extends object>(object: Target, members: Partial<Target>): Target {
  return new Proxy(object, {
    get(target, name) {
      const key = name as keyof Target;
      const member = members[key] ?? target[key];
      return typeof member === "function" && members[key] === undefined ? member.bind(target) : member;
    },
  });
}

/**
 * Tells the holders of sessions that somebody may have posted to them: one listener of the store for all of a process.
 */
import type { Clock } from "../ports/clock.js";
import type { Store } from "../ports/store.js";
import { type Driver, wake } from "./driver.js";

/** A store tells of the holder's own commits too: so the inbox is looked at, but not each time. */
const lookEveryMs = 100;

export type Inboxes = {
  readonly store: Store;
  readonly clock: Clock;
  /** By session. */
  readonly drivers: Map<string, Driver>;
  /** Inboxes that will be looked at soon, and the way to call that off. */
  readonly soon: Map<string, () => void>;
  stop: (() => void) | null;
};

export function createInboxes(store: Store, clock: Clock): Inboxes {
  return { store, clock, drivers: new Map(), soon: new Map(), stop: null };
}

export function watchInbox(inboxes: Inboxes, driver: Driver): void {
  inboxes.stop ??= inboxes.store.watch((change) => lookSoon(inboxes, change.sessionId));
  inboxes.drivers.set(driver.sessionId, driver);
}

export function unwatchInbox(inboxes: Inboxes, { sessionId }: Driver): void {
  inboxes.drivers.delete(sessionId);
  inboxes.soon.get(sessionId)?.();
  inboxes.soon.delete(sessionId);
  if (inboxes.drivers.size > 0) return;
  inboxes.stop?.();
  inboxes.stop = null;
}

function lookSoon({ clock, drivers, soon }: Inboxes, sessionId: string): void {
  if (!drivers.has(sessionId) || soon.has(sessionId)) return;
  const cancel = clock.after(lookEveryMs, () => {
    soon.delete(sessionId);
    const driver = drivers.get(sessionId);
    if (driver !== undefined) void wake(driver);
  });
  soon.set(sessionId, cancel);
}

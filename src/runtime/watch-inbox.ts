/**
 * Tells the holders of sessions that somebody may have posted to them: one listener of the store for all of a process.
 */
import type { Clock } from "../ports/clock.js";
import type { Store } from "../ports/store.js";

/** A store tells of the holder's own commits too: so the inbox is looked at, but not each time. */
const lookEveryMs = 100;

export type Inboxes = {
  readonly store: Store;
  readonly clock: Clock;
  /** What looks at a session's inbox. */
  readonly looks: Map<string, () => void>;
  /** Inboxes that will be looked at soon, and the way to call that off. */
  readonly soon: Map<string, () => void>;
  stop: (() => void) | null;
};

export function createInboxes(store: Store, clock: Clock): Inboxes {
  return { store, clock, looks: new Map(), soon: new Map(), stop: null };
}

export function watchInbox(inboxes: Inboxes, sessionId: string, look: () => void): void {
  inboxes.stop ??= inboxes.store.watch((change) => lookSoon(inboxes, change.sessionId));
  inboxes.looks.set(sessionId, look);
}

export function unwatchInbox(inboxes: Inboxes, sessionId: string): void {
  inboxes.looks.delete(sessionId);
  inboxes.soon.get(sessionId)?.();
  inboxes.soon.delete(sessionId);
  if (inboxes.looks.size > 0) return;
  inboxes.stop?.();
  inboxes.stop = null;
}

function lookSoon({ clock, looks, soon }: Inboxes, sessionId: string): void {
  if (!looks.has(sessionId) || soon.has(sessionId)) return;
  const cancel = clock.after(lookEveryMs, () => {
    soon.delete(sessionId);
    looks.get(sessionId)?.();
  });
  soon.set(sessionId, cancel);
}

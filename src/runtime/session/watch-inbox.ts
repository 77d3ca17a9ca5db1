/**
 * Wakes the drivers of this process when a message may have been posted to their sessions. All sessions share one store
 * listener and a few timers.
 */
import type { Clock } from "../../ports/clock.js";
import type { Store, StoreChange } from "../../ports/store.js";
import { type Driver, wake } from "../driver/driver.js";

/** Milliseconds from a change to the read of the inboxes of all sessions that have changed by then. */
const readDelaysMs = {
  inbox: 10,
  /** Mostly the holder's own commits. */
  either: 100,
  /**
   * A change of the log needs no read. But a message may arrive while the driver is being opened, and notifications can be
   * missed, so a busy session reads its inbox from time to time.
   */
  log: 1_500,
} as const;

type ChangeKind = keyof typeof readDelaysMs;

type PendingRead = { readonly sessionIds: Set<string>; cancel: (() => void) | null };

export type InboxWatch = {
  readonly store: Store;
  readonly clock: Clock;
  /** By session. */
  readonly drivers: Map<string, Driver>;
  readonly pendingReads: Readonly<Record<ChangeKind, PendingRead>>;
  stop: (() => void) | null;
};

export function createInboxWatch(store: Store, clock: Clock): InboxWatch {
  const pendingReads = { inbox: createPendingRead(), either: createPendingRead(), log: createPendingRead() };
  return { store, clock, drivers: new Map(), pendingReads, stop: null };
}

function createPendingRead(): PendingRead {
  return { sessionIds: new Set(), cancel: null };
}

export function watchInbox(inboxes: InboxWatch, driver: Driver): void {
  inboxes.stop ??= inboxes.store.watch((change) => scheduleRead(inboxes, change));
  inboxes.drivers.set(driver.sessionId, driver);
}

export function unwatchInbox(inboxes: InboxWatch, { sessionId }: Driver): void {
  inboxes.drivers.delete(sessionId);
  if (inboxes.drivers.size > 0) return;
  for (const pendingRead of Object.values(inboxes.pendingReads)) cancelRead(pendingRead);
  inboxes.stop?.();
  inboxes.stop = null;
}

function cancelRead(pendingRead: PendingRead): void {
  pendingRead.cancel?.();
  pendingRead.cancel = null;
  pendingRead.sessionIds.clear();
}

function scheduleRead({ clock, drivers, pendingReads }: InboxWatch, change: StoreChange): void {
  const { sessionId } = change;
  if (sessionId !== undefined && !drivers.has(sessionId)) return;
  const changeKind: ChangeKind = change.in ?? "either";
  const pendingRead = pendingReads[changeKind];
  for (const id of sessionId === undefined ? drivers.keys() : [sessionId]) pendingRead.sessionIds.add(id);
  pendingRead.cancel ??= clock.after(readDelaysMs[changeKind], () => {
    const drivenNow = [...pendingRead.sessionIds].map((id) => drivers.get(id)).filter((driver) => driver !== undefined);
    cancelRead(pendingRead);
    for (const driver of drivenNow) void wake(driver);
  });
}

/**
 * Wakes the drivers of this process when somebody may have posted to their sessions. All sessions share one listener of
 * the store and a few timers.
 */
import type { Clock } from "../../ports/clock.js";
import type { Store, StoreChange } from "../../ports/store.js";
import { type Driver, wake } from "../driver/driver.js";

/** Milliseconds from a change to the read of the inboxes of all sessions that have changed by then. */
const lookAfterMs = {
  inbox: 10,
  /** Mostly commits of the holder itself. */
  either: 100,
  /**
   * A change of the log needs no read. But a message may come while its driver is opened, and hints can be missed, so a
   * busy session reads its inbox now and then.
   */
  log: 1_500,
} as const;

type ChangeKind = keyof typeof lookAfterMs;

type Look = { readonly sessionIds: Set<string>; cancel: (() => void) | null };

export type Inboxes = {
  readonly store: Store;
  readonly clock: Clock;
  /** By session. */
  readonly drivers: Map<string, Driver>;
  readonly looks: Readonly<Record<ChangeKind, Look>>;
  stop: (() => void) | null;
};

export function createInboxes(store: Store, clock: Clock): Inboxes {
  const looks = { inbox: createLook(), either: createLook(), log: createLook() };
  return { store, clock, drivers: new Map(), looks, stop: null };
}

function createLook(): Look {
  return { sessionIds: new Set(), cancel: null };
}

export function watchInbox(inboxes: Inboxes, driver: Driver): void {
  inboxes.stop ??= inboxes.store.watch((change) => lookSoon(inboxes, change));
  inboxes.drivers.set(driver.sessionId, driver);
}

export function unwatchInbox(inboxes: Inboxes, { sessionId }: Driver): void {
  inboxes.drivers.delete(sessionId);
  if (inboxes.drivers.size > 0) return;
  for (const look of Object.values(inboxes.looks)) callOff(look);
  inboxes.stop?.();
  inboxes.stop = null;
}

function callOff(look: Look): void {
  look.cancel?.();
  look.cancel = null;
  look.sessionIds.clear();
}

function lookSoon({ clock, drivers, looks }: Inboxes, change: StoreChange): void {
  const { sessionId } = change;
  if (sessionId !== undefined && !drivers.has(sessionId)) return;
  const place: ChangeKind = change.in ?? "either";
  const look = looks[place];
  for (const id of sessionId === undefined ? drivers.keys() : [sessionId]) look.sessionIds.add(id);
  look.cancel ??= clock.after(lookAfterMs[place], () => {
    const drivenNow = [...look.sessionIds].map((id) => drivers.get(id)).filter((driver) => driver !== undefined);
    callOff(look);
    for (const driver of drivenNow) void wake(driver);
  });
}

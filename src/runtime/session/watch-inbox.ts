/**
 * Tells the holders of sessions that somebody may have posted to them: one listener of the store, and few timers, for all of a
 * process.
 */
import type { Clock } from "../../ports/clock.js";
import type { Change, Store } from "../../ports/store.js";
import { type Driver, wake } from "../driver/driver.js";

/** How long after a change inboxes are looked at, those of all sessions that changed meanwhile: milliseconds. */
const lookAfterMs = {
  inbox: 10,
  /** Mostly the holder's own commits. */
  either: 100,
  /** A store's word is a hint, which can be missed: so what is written to is looked at now and then. */
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

function lookSoon({ clock, drivers, looks }: Inboxes, change: Change): void {
  const { sessionId } = change;
  if (!drivers.has(sessionId)) return;
  const place: ChangeKind = change.in ?? "either";
  const look = looks[place];
  look.sessionIds.add(sessionId);
  look.cancel ??= clock.after(lookAfterMs[place], () => {
    const drivenNow = [...look.sessionIds].map((id) => drivers.get(id)).filter((driver) => driver !== undefined);
    callOff(look);
    for (const driver of drivenNow) void wake(driver);
  });
}

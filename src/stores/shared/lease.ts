/**
 * The rules of leases that all stores share.
 */
import type { Holder } from "../../ports/store.js";

/** A recorded lease: its holder, when it ends, and its length when it was last claimed or renewed, in milliseconds. */
export type LeaseHold = { readonly holder: Holder; readonly expiresAt: number; readonly leaseMs: number };

/**
 * Whether the lease has not expired. A lease that ends much later than `now` plus its own length was written before a clock jumped, and is
 * void. The margin is large, because callers read `now` before they wait for the file's lock, and may get the lock in a different order.
 */
export function isLive(hold: Omit<LeaseHold, "holder">, now: number): boolean {
  return hold.expiresAt > now && hold.expiresAt <= now + maxLeaseFactor * hold.leaseMs;
}

/** A lease is void if it ends later than this many times its length from now. */
export const maxLeaseFactor = 2;

/** Whether the lease prevents other processes from claiming the session at this time. */
export function isHeld(hold: LeaseHold | null, now: number, isDead: (holder: Holder) => boolean): hold is LeaseHold {
  return hold !== null && isLive(hold, now) && !isDead(hold.holder);
}

export function assumeAlive(): boolean {
  return false;
}

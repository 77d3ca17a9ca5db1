/**
 * Who holds a session, in the terms that every store shares.
 */
import type { Owner } from "../ports/store.js";

/** A recorded lease: its owner, when it ends, and how long it was when it was last taken or renewed (milliseconds). */
export type Hold = { readonly owner: Owner; readonly expiresAt: number; readonly leaseMs: number };

/** The lease has not run out. One that ends later than now + its own length was written before a clock jumped: it is void. */
export function isLive(hold: Omit<Hold, "owner">, now: number): boolean {
  return hold.expiresAt > now && hold.expiresAt <= now + hold.leaseMs;
}

/** Nobody may claim over this hold at this time. */
export function isHeld(hold: Hold | null, now: number, isDead: (owner: Owner) => boolean): hold is Hold {
  return hold !== null && isLive(hold, now) && !isDead(hold.owner);
}

export function nobodyIsDead(): boolean {
  return false;
}

/**
 * Who holds a session, in the terms that every store shares.
 */
import type { Holder } from "../../ports/store.js";

/** A recorded lease: its holder, when it ends, and how long it was when it was last taken or renewed (milliseconds). */
export type Hold = { readonly holder: Holder; readonly expiresAt: number; readonly leaseMs: number };

/**
 * The lease has not run out. One that ends much later than now + its own length was written before a clock jumped: it is void. Much,
 * because `now` is older than the claim that it comes with: two that wait for a file's lock need not get it in the order of their times.
 */
export function isLive(hold: Omit<Hold, "holder">, now: number): boolean {
  return hold.expiresAt > now && hold.expiresAt <= now + voidBeyond * hold.leaseMs;
}

/** In lengths of the lease. */
export const voidBeyond = 2;

/** Nobody may claim over this hold at this time. */
export function isHeld(hold: Hold | null, now: number, isDead: (holder: Holder) => boolean): hold is Hold {
  return hold !== null && isLive(hold, now) && !isDead(hold.holder);
}

export function nobodyIsDead(): boolean {
  return false;
}

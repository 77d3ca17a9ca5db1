/**
 * Renews the leases of a process: one timer and one statement for all of them.
 */
import type { Clock } from "../../ports/clock.js";
import type { Holder, Lease, Store } from "../../ports/store.js";
import type { Hold } from "../work/effect-context.js";

export type LeaseKeeperOptions = {
  readonly store: Store;
  readonly clock: Clock;
  readonly holder: Holder;
  readonly leaseMs: number;
  /** Whether a holder is known to be dead. Left out if this process cannot know. */
  readonly isDead?: (holder: Holder) => boolean;
};

export type LeaseKeeper = LeaseKeeperOptions & {
  /** By session. */
  readonly kept: Map<string, KeptLease>;
  cancel: (() => void) | null;
  renewing: Promise<void> | null;
};

/**
 * A time by both clocks. Other processes go by the wall clock, which can be set back; the monotonic clock may stand
 * still while the machine sleeps.
 */
export type Moment = { readonly wall: number; readonly elapsed: number };

/**
 * A lease that is renewed until it is dropped. If it turns out to be gone, `renewedAt` becomes null, and `lost` is
 * called.
 */
export type KeptLease = { readonly lease: Lease; readonly lost: () => void; renewedAt: Moment | null };

export function momentOf(clock: Clock): Moment {
  return { wall: clock.now(), elapsed: clock.elapsed() };
}

export function createLeaseKeeper(options: LeaseKeeperOptions): LeaseKeeper {
  return { ...options, kept: new Map(), cancel: null, renewing: null };
}

/** @param claimedAt the time before the claim was sent to the store */
export function keepLease(keeper: LeaseKeeper, lease: Lease, claimedAt: Moment, lost: () => void): KeptLease {
  const one: KeptLease = { lease, lost, renewedAt: claimedAt };
  keeper.kept.set(lease.sessionId, one);
  if (keeper.cancel === null) schedule(keeper);
  return one;
}

export function dropLease(keeper: LeaseKeeper, one: KeptLease): void {
  if (isKept(keeper, one)) keeper.kept.delete(one.lease.sessionId);
  if (keeper.kept.size > 0) return;
  keeper.cancel?.();
  keeper.cancel = null;
}

/**
 * A kept lease, as the committer and the effects see it.
 * @param failed called if the store fails at a renewal, which then counts as not held
 */
export function holdOf(keeper: LeaseKeeper, kept: KeptLease, failed: (error: unknown) => void): Hold {
  return {
    isSure: () => isSure(keeper, kept),
    async makeSure() {
      try {
        return await makeSure(keeper, kept);
      } catch (error) {
        failed(error);
        return false;
      }
    },
  };
}

/** Whether no other process can have claimed the session. False after a sleep or a jump of the clock. */
function isSure({ clock, leaseMs }: LeaseKeeper, { renewedAt }: KeptLease): boolean {
  if (renewedAt === null) return false;
  const age = clock.now() - renewedAt.wall;
  return age >= 0 && age < leaseMs && clock.elapsed() - renewedAt.elapsed < leaseMs;
}

/** Renews the lease now. False if it is gone, or was dropped. @throws what the store throws */
async function makeSure(keeper: LeaseKeeper, one: KeptLease): Promise<boolean> {
  await renew(keeper);
  return isKept(keeper, one) && one.renewedAt !== null;
}

function isKept({ kept }: LeaseKeeper, one: KeptLease): boolean {
  return kept.get(one.lease.sessionId) === one;
}

function schedule(keeper: LeaseKeeper): void {
  keeper.cancel = keeper.clock.after(keeper.leaseMs / 3, () => void renewInTime(keeper));
}

async function renewInTime(keeper: LeaseKeeper): Promise<void> {
  try {
    await renew(keeper);
  } catch {
    // The next timer asks the store again, and the next commit finds out in any case.
  }
  if (keeper.kept.size > 0) schedule(keeper);
  else keeper.cancel = null;
}

function renew(keeper: LeaseKeeper): Promise<void> {
  keeper.renewing ??= renewAll(keeper).finally(() => {
    keeper.renewing = null;
  });
  return keeper.renewing;
}

async function renewAll(keeper: LeaseKeeper): Promise<void> {
  const all = [...keeper.kept.values()];
  const now = momentOf(keeper.clock);
  const leases = all.map((one) => one.lease);
  const gone = await keeper.store.renew(leases, now.wall, keeper.leaseMs);
  for (const one of all) {
    const isGone = gone.includes(one.lease.sessionId);
    one.renewedAt = isGone ? null : now;
    if (isGone && isKept(keeper, one)) one.lost();
  }
}

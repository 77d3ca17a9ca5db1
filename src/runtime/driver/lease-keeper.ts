/**
 * Renews the leases of a process: one timer and one statement for all of them.
 */
import type { Clock } from "../../ports/clock.js";
import type { Holder, Lease, Store } from "../../ports/store.js";
import type { LeaseHold } from "../work/effect-context.js";

export type LeaseKeeperOptions = {
  readonly store: Store;
  readonly clock: Clock;
  readonly holder: Holder;
  readonly leaseMs: number;
  /** Whether a holder is known to be dead. Absent if this process cannot know. */
  readonly isDead?: (holder: Holder) => boolean;
};

export type LeaseKeeper = LeaseKeeperOptions & {
  /** By session. */
  readonly kept: Map<string, KeptLease>;
  cancel: (() => void) | null;
  renewing: Promise<void> | null;
};

/**
 * A time by both clocks. Other processes use the wall clock, which can be set back; the monotonic clock may stop
 * while the machine sleeps.
 */
export type Moment = { readonly wall: number; readonly elapsed: number };

/**
 * A lease that is renewed until it is untracked. If it is lost, `renewedAt` becomes null, and `onLost` is called.
 */
export type KeptLease = { readonly lease: Lease; readonly onLost: () => void; renewedAt: Moment | null };

export function readClocks(clock: Clock): Moment {
  return { wall: clock.now(), elapsed: clock.elapsed() };
}

export function createLeaseKeeper(options: LeaseKeeperOptions): LeaseKeeper {
  return { ...options, kept: new Map(), cancel: null, renewing: null };
}

/** @param claimedAt the time before the claim was sent to the store */
export function trackLease(keeper: LeaseKeeper, lease: Lease, claimedAt: Moment, onLost: () => void): KeptLease {
  const keptLease: KeptLease = { lease, onLost, renewedAt: claimedAt };
  keeper.kept.set(lease.sessionId, keptLease);
  if (keeper.cancel === null) scheduleRenewal(keeper);
  return keptLease;
}

export function untrackLease(keeper: LeaseKeeper, keptLease: KeptLease): void {
  if (isTracked(keeper, keptLease)) keeper.kept.delete(keptLease.lease.sessionId);
  if (keeper.kept.size > 0) return;
  keeper.cancel?.();
  keeper.cancel = null;
}

/**
 * A kept lease from the point of view of the committer and the effects.
 * @param onFailed called if the store fails during a renewal; the lease then counts as lost
 */
export function createLeaseHold(keeper: LeaseKeeper, kept: KeptLease, onFailed: (error: unknown) => void): LeaseHold {
  return {
    isFresh: () => isFresh(keeper, kept),
    async refresh() {
      try {
        return await refreshLease(keeper, kept);
      } catch (error) {
        onFailed(error);
        return false;
      }
    },
  };
}

/** Whether no other process can have claimed the session. False after the machine slept or the clock jumped. */
function isFresh({ clock, leaseMs }: LeaseKeeper, { renewedAt }: KeptLease): boolean {
  if (renewedAt === null) return false;
  const age = clock.now() - renewedAt.wall;
  return age >= 0 && age < leaseMs && clock.elapsed() - renewedAt.elapsed < leaseMs;
}

/** Renews the lease now. False if it is lost or no longer tracked. @throws what the store throws */
async function refreshLease(keeper: LeaseKeeper, keptLease: KeptLease): Promise<boolean> {
  await renew(keeper);
  return isTracked(keeper, keptLease) && keptLease.renewedAt !== null;
}

function isTracked({ kept }: LeaseKeeper, keptLease: KeptLease): boolean {
  return kept.get(keptLease.lease.sessionId) === keptLease;
}

function scheduleRenewal(keeper: LeaseKeeper): void {
  keeper.cancel = keeper.clock.after(keeper.leaseMs / 3, () => void renewOnTimer(keeper));
}

async function renewOnTimer(keeper: LeaseKeeper): Promise<void> {
  try {
    await renew(keeper);
  } catch {
    // The next timer retries, and the next commit detects a lost lease in any case.
  }
  if (keeper.kept.size > 0) scheduleRenewal(keeper);
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
  const now = readClocks(keeper.clock);
  const leases = all.map((keptLease) => keptLease.lease);
  const lostIds = await keeper.store.renew(leases, now.wall, keeper.leaseMs);
  for (const keptLease of all) {
    const isLost = lostIds.includes(keptLease.lease.sessionId);
    keptLease.renewedAt = isLost ? null : now;
    if (isLost && isTracked(keeper, keptLease)) keptLease.onLost();
  }
}

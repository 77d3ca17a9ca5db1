/**
 * Renews the leases of a process: one timer and one statement for all of them.
 */
import type { Clock } from "../ports/clock.js";
import type { Lease, Owner, Store } from "../ports/store.js";

export type LeaseKeeper = {
  readonly owner: Owner;
  readonly leaseMs: number;
  /** Tells whether an owner is known to be dead, where that can be known. */
  readonly isDead?: (owner: Owner) => boolean;
  /** Renews a lease that was asked for at `claimedAt` until it is dropped; `lost` is called when it turns out to be gone. */
  readonly keep: (lease: Lease, claimedAt: Moment, lost: () => void) => Kept;
};

/** A time by both clocks: others go by the wall clock, which can be set back; the other one may stand still in a sleep. */
export type Moment = { readonly wall: number; readonly elapsed: number };

/** A lease that is renewed. */
export type Kept = {
  /** Nobody else can have claimed. False after a sleep or a jump of the clock: somebody may have. */
  readonly isSure: () => boolean;
  /** Renews it now; false where it is gone, or was dropped. @throws what the store throws */
  readonly makeSure: () => Promise<boolean>;
  readonly drop: () => void;
};

export type LeaseKeeperOptions = Pick<LeaseKeeper, "owner" | "leaseMs" | "isDead"> & {
  readonly store: Store;
  readonly clock: Clock;
};

/** `renewedAt` is null once the lease is gone. */
type Held = { readonly lease: Lease; readonly lost: () => void; renewedAt: Moment | null };

export function momentOf(clock: Clock): Moment {
  return { wall: clock.now(), elapsed: clock.elapsed() };
}

export function createLeaseKeeper({ store, clock, owner, leaseMs, isDead }: LeaseKeeperOptions): LeaseKeeper {
  const held = new Map<string, Held>();
  let cancel: (() => void) | null = null;
  let renewing: Promise<void> | null = null;

  const isHeld = (one: Held) => held.get(one.lease.sessionId) === one;

  function schedule(): void {
    cancel = clock.after(leaseMs / 3, () => void renewInTime());
  }

  async function renewInTime(): Promise<void> {
    try {
      await renew();
    } catch {
      // A store that does not answer now is asked again; the next commit tells in any case.
    }
    if (held.size > 0) schedule();
    else cancel = null;
  }

  function renew(): Promise<void> {
    renewing ??= renewAll().finally(() => {
      renewing = null;
    });
    return renewing;
  }

  async function renewAll(): Promise<void> {
    const all = [...held.values()];
    const now = momentOf(clock);
    const leases = all.map((one) => one.lease);
    const gone = await store.renew(leases, now.wall, leaseMs);
    for (const one of all) {
      const isGone = gone.includes(one.lease.sessionId);
      one.renewedAt = isGone ? null : now;
      if (isGone && isHeld(one)) one.lost();
    }
  }

  function keep(lease: Lease, claimedAt: Moment, lost: () => void): Kept {
    const one: Held = { lease, lost, renewedAt: claimedAt };
    held.set(lease.sessionId, one);
    if (cancel === null) schedule();
    return {
      isSure() {
        if (one.renewedAt === null) return false;
        const age = clock.now() - one.renewedAt.wall;
        return age >= 0 && age < leaseMs && clock.elapsed() - one.renewedAt.elapsed < leaseMs;
      },
      makeSure: async () => {
        await renew();
        return isHeld(one) && one.renewedAt !== null;
      },
      drop() {
        if (isHeld(one)) held.delete(lease.sessionId);
        if (held.size > 0 || cancel === null) return;
        cancel();
        cancel = null;
      },
    };
  }

  return { owner, leaseMs, keep, ...(isDead === undefined ? {} : { isDead }) };
}

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
  /** Renews a lease until it is dropped; `lost` is called when it turns out to be gone. */
  readonly keep: (lease: Lease, lost: () => void) => Kept;
};

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

type Held = { readonly lease: Lease; readonly lost: () => void; renewedAt: number };

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
    const now = clock.now();
    const leases = all.map((one) => one.lease);
    const gone = await store.renew(leases, now, leaseMs);
    for (const one of all) {
      const isGone = gone.includes(one.lease.sessionId);
      one.renewedAt = isGone ? Number.NEGATIVE_INFINITY : now;
      if (isGone && isHeld(one)) one.lost();
    }
  }

  function keep(lease: Lease, lost: () => void): Kept {
    const one: Held = { lease, lost, renewedAt: lease.expiresAt - leaseMs };
    held.set(lease.sessionId, one);
    if (cancel === null) schedule();
    return {
      isSure() {
        const age = clock.now() - one.renewedAt;
        return age >= 0 && age < leaseMs;
      },
      makeSure: async () => {
        await renew();
        return isHeld(one) && one.renewedAt !== Number.NEGATIVE_INFINITY;
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

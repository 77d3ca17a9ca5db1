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
  readonly keep: (lease: Lease, lost: () => void) => () => void;
};

export type LeaseKeeperOptions = Pick<LeaseKeeper, "owner" | "leaseMs" | "isDead"> & {
  readonly store: Store;
  readonly clock: Clock;
};

export function createLeaseKeeper({ store, clock, owner, leaseMs, isDead }: LeaseKeeperOptions): LeaseKeeper {
  const held = new Map<string, { readonly lease: Lease; readonly lost: () => void }>();
  let cancel: (() => void) | null = null;

  function schedule(): void {
    cancel = clock.after(leaseMs / 3, () => void renew());
  }

  async function renew(): Promise<void> {
    const leases = [...held.values()];
    try {
      const gone = await store.renew(
        leases.map((one) => one.lease),
        clock.now(),
        leaseMs,
      );
      for (const { lease, lost } of leases)
        if (gone.includes(lease.sessionId) && held.get(lease.sessionId)?.lease === lease) lost();
    } catch {
      // A store that does not answer now is asked again; the next commit tells in any case.
    }
    if (held.size > 0) schedule();
    else cancel = null;
  }

  function keep(lease: Lease, lost: () => void): () => void {
    const one = { lease, lost };
    held.set(lease.sessionId, one);
    if (cancel === null) schedule();
    return () => {
      if (held.get(lease.sessionId) === one) held.delete(lease.sessionId);
      if (held.size > 0 || cancel === null) return;
      cancel();
      cancel = null;
    };
  }

  return { owner, leaseMs, keep, ...(isDead === undefined ? {} : { isDead }) };
}

/**
 * Claiming, renewing and releasing leases.
 */
import { deepStrictEqual, notStrictEqual, ok, strictEqual } from "node:assert/strict";
import {
  alice,
  bob,
  claim,
  claimAsBob,
  commit,
  createCases,
  createCommit,
  createHeldSession,
  createMessage,
  createState,
  expectError,
  expectLog,
  expectResultType,
  leaseMs,
  t0,
} from "./bench.js";

export const claimCases = createCases(["STOR-1", "REC-1"], {
  "the first claim of a session finds no entries and no state": async ({ store }) => {
    const result = await store.claim("s", { holder: alice, now: t0, leaseMs });
    ok(result.type === "claimed");
    strictEqual(result.seq, 0);
    strictEqual(result.state, null);
  },
  "a lease names its session, its holder and its end": async ({ store }) => {
    const lease = await claim(store);
    strictEqual(lease.sessionId, "s");
    deepStrictEqual(lease.holder, alice);
    strictEqual(lease.expiresAt, t0 + leaseMs);
    ok(lease.epoch >= 1);
  },
  "a claim creates the session": async ({ store }) => {
    await claim(store);
    const [summary] = await store.list();
    strictEqual(summary?.sessionId, "s");
    deepStrictEqual(summary.holder, alice);
  },
  "a held session cannot be claimed, and the result names its holder": async ({ store }) => {
    await claim(store);
    const result = await store.claim("s", { holder: bob, now: t0 + 1, leaseMs });
    deepStrictEqual(result, { type: "held", holder: alice, expiresAt: t0 + leaseMs });
  },
  "the holder itself cannot claim the session twice": async ({ store }) => {
    await claim(store);
    strictEqual((await store.claim("s", { holder: alice, now: t0 + 1, leaseMs })).type, "held");
  },
  "each claim has a higher epoch": async ({ store }) => {
    const epochs: number[] = [];
    for (let round = 0; round < 5; round++) {
      const lease = await claim(store);
      epochs.push(lease.epoch);
      await store.release(lease);
    }
    deepStrictEqual(
      epochs,
      [...new Set(epochs)].sort((a, b) => a - b),
    );
  },
  "a claim returns the last entry's number and state": async ({ store }) => {
    await store.release(await createHeldSession(store, 3));
    const result = await store.claim("s", { holder: bob, now: t0, leaseMs });
    ok(result.type === "claimed");
    strictEqual(result.seq, 3);
    deepStrictEqual(result.state, createState(3, "model_running"));
  },
  "sessions are held independently": async ({ store }) => {
    await claim(store, "a");
    const result = await store.claim("b", { holder: bob, now: t0, leaseMs });
    strictEqual(result.type, "claimed");
  },
  "of two concurrent claims, one wins": async ({ store }) => {
    const results = await Promise.all([claimAsBob(store, t0), claimAsBob(store, t0)]);
    deepStrictEqual([...results].sort(), [false, true]);
  },
  "of many concurrent claims by two processes, one wins": async ({ store, second }) => {
    const otherStore = await second();
    const claims = Array.from({ length: 20 }, (_, index) => claimAsBob(index % 2 === 0 ? store : otherStore, t0));
    strictEqual((await Promise.all(claims)).filter(Boolean).length, 1);
  },
  "another process cannot claim a held session": async ({ store, second }) => {
    await claim(store);
    strictEqual(await claimAsBob(await second(), t0), false);
  },
  "a claim of an invalid id is refused": async ({ store }) => {
    for (const id of ["", "a\0b", "a\ud800", "x".repeat(513)]) await expectError(() => claim(store, id), "bad_input");
    deepStrictEqual(await store.list(), []);
  },
});

export const expiryCases = createCases(["STOR-1", "REC-9"], {
  "an expired lease can be claimed": async ({ store }) => {
    await claim(store);
    strictEqual(await claimAsBob(store, t0 + leaseMs + 1), true);
  },
  "a lease has expired at the moment of its end": async ({ store }) => {
    await claim(store);
    strictEqual(await claimAsBob(store, t0 + leaseMs), true);
  },
  "a lease has not expired a millisecond before its end": async ({ store }) => {
    await claim(store);
    strictEqual(await claimAsBob(store, t0 + leaseMs - 1), false);
  },
  "a dead holder is replaced at once": async ({ store }) => {
    await claim(store);
    strictEqual(await claimAsBob(store, t0 + 1, { isDead: (holder) => holder.id === alice.id }), true);
  },
  "a holder that is not known to be dead is not replaced": async ({ store }) => {
    await claim(store);
    strictEqual(await claimAsBob(store, t0 + 1, { isDead: () => false }), false);
  },
  "isDead is called with the recorded holder": async ({ store }) => {
    await claim(store);
    const askedHolders: unknown[] = [];
    await claimAsBob(store, t0 + 1, { isDead: (holder) => askedHolders.push(holder) === 0 });
    deepStrictEqual(askedHolders, [alice]);
  },
  "a lease is void if the clock was set back by more than its length": async ({ store }) => {
    await claim(store);
    strictEqual(await claimAsBob(store, t0 - 60_000), true);
  },
  "a lease that ends exactly its length from now is held": async ({ store }) => {
    await claim(store);
    strictEqual(await claimAsBob(store, t0), false);
  },
  "a claim that comes after another's, with an older time, does not take it over": async ({ store }) => {
    await commit(store, await claim(store), 0, { dueAt: t0 - leaseMs });
    for (const late of [1, 5_000, leaseMs]) strictEqual(await claimAsBob(store, t0 - late), false);
    deepStrictEqual(await store.due(t0 - leaseMs, 10), []);
  },
  "whether a lease is void depends on its own length, not the claimer's": async ({ store }) => {
    await claim(store, "s", { leaseMs: 600_000 });
    strictEqual(await claimAsBob(store, t0 + 1, { leaseMs: 1000 }), false);
  },
  "a clock that is a year ahead does not lock a session forever": async ({ store }) => {
    const year = 365 * 24 * 3_600_000;
    await claim(store, "s", { now: t0 + year });
    strictEqual(await claimAsBob(store, t0), true);
  },
  "a claim over an expired lease fences its holder": async ({ store }) => {
    const zombie = await claim(store);
    await claimAsBob(store, t0 + leaseMs);
    expectResultType(await store.commit(zombie, createCommit(0)), "fenced");
  },
  "a claim over a dead holder fences that holder": async ({ store }) => {
    const zombie = await claim(store);
    await claimAsBob(store, t0, { isDead: () => true });
    expectResultType(await store.commit(zombie, createCommit(0)), "fenced");
  },
  "epochs never go back, even if the session was deleted in between": async ({ store }) => {
    const zombie = await claim(store);
    await store.delete("s", { now: t0, force: true });
    const lease = await claim(store);
    ok(lease.epoch > zombie.epoch);
    expectResultType(await store.commit(zombie, createCommit(0)), "fenced");
  },
});

export const renewCases = createCases(["STOR-1", "REC-9"], {
  "a renewed lease is held until its new end": async ({ store }) => {
    const lease = await claim(store);
    deepStrictEqual(await store.renew([lease], t0 + 20_000, leaseMs), []);
    strictEqual(await claimAsBob(store, t0 + leaseMs + 1), false);
    strictEqual(await claimAsBob(store, t0 + 20_000 + leaseMs), true);
  },
  "a renewal may change the length": async ({ store }) => {
    const lease = await claim(store);
    await store.renew([lease], t0, 1000);
    strictEqual(await claimAsBob(store, t0 + 1000), true);
  },
  "a renewed lease stays in use": async ({ store }) => {
    const lease = await claim(store);
    await store.renew([lease], t0 + 20_000, leaseMs);
    strictEqual(await commit(store, lease, 0), 1);
  },
  "an expired lease can be renewed as long as it has not been claimed": async ({ store }) => {
    const lease = await claim(store);
    deepStrictEqual(await store.renew([lease], t0 + 10 * leaseMs, leaseMs), []);
    strictEqual(await claimAsBob(store, t0 + 10 * leaseMs + 1), false);
  },
  "a renewal after the clock went back makes the lease valid again": async ({ store }) => {
    const lease = await claim(store);
    await store.renew([lease], t0 - 60_000, leaseMs);
    strictEqual(await claimAsBob(store, t0 - 60_000), false);
  },
  "a lease that another process has claimed is lost": async ({ store }) => {
    const lease = await claim(store);
    await claimAsBob(store, t0 + leaseMs);
    deepStrictEqual(await store.renew([lease], t0 + leaseMs, leaseMs), ["s"]);
  },
  "a lost renewal does not extend the other's lease": async ({ store }) => {
    const zombie = await claim(store);
    await claimAsBob(store, t0 + leaseMs);
    await store.renew([zombie], t0 + 10 * leaseMs, leaseMs);
    strictEqual((await store.claim("s", { holder: alice, now: t0 + 2 * leaseMs, leaseMs })).type, "claimed");
  },
  "a lease that was released is lost": async ({ store }) => {
    const lease = await claim(store);
    await store.release(lease);
    deepStrictEqual(await store.renew([lease], t0, leaseMs), ["s"]);
  },
  "the lease of a session that was deleted is lost": async ({ store }) => {
    const lease = await claim(store);
    await store.delete("s", { now: t0, force: true });
    deepStrictEqual(await store.renew([lease], t0, leaseMs), ["s"]);
  },
  "a renewal of several leases returns those that are lost": async ({ store }) => {
    const leases = await Promise.all(["a", "b", "c"].map((id) => claim(store, id)));
    const [, b] = leases;
    if (b !== undefined) await store.release(b);
    deepStrictEqual(await store.renew(leases, t0 + 20_000, leaseMs), ["b"]);
    strictEqual((await store.claim("c", { holder: bob, now: t0 + leaseMs, leaseMs })).type, "held");
  },
  "renewing nothing loses nothing": async ({ store }) => {
    await claim(store);
    deepStrictEqual(await store.renew([], t0 + 20_000, leaseMs), []);
    strictEqual(await claimAsBob(store, t0 + leaseMs), true);
  },
});

export const releaseCases = createCases(["STOR-1", "STOR-2", "REC-1"], {
  "a released session can be claimed at once": async ({ store }) => {
    deepStrictEqual(await store.release(await claim(store)), { type: "released" });
    strictEqual(await claimAsBob(store, t0), true);
  },
  "a lease cannot be released twice": async ({ store }) => {
    const lease = await claim(store);
    await store.release(lease);
    deepStrictEqual(await store.release(lease), { type: "fenced" });
  },
  "a release fences the holder": async ({ store }) => {
    const lease = await createHeldSession(store, 1);
    await store.release(lease);
    expectResultType(await store.commit(lease, createCommit(1)), "fenced");
    await expectLog(store, 1);
  },
  "a zombie cannot release another's lease": async ({ store }) => {
    const zombie = await claim(store);
    await claimAsBob(store, t0 + leaseMs);
    deepStrictEqual(await store.release(zombie), { type: "fenced" });
    strictEqual((await store.claim("s", { holder: alice, now: t0 + leaseMs, leaseMs })).type, "held");
  },
  "a release of a missing session is fenced": async ({ store }) => {
    deepStrictEqual(await store.release({ sessionId: "none", epoch: 1, holder: alice, expiresAt: t0 }), {
      type: "fenced",
    });
  },
  "a session that is released with a message in its inbox is due, and can be claimed at once": async ({ store }) => {
    const lease = await claim(store);
    await store.post("s", createMessage("m"));
    deepStrictEqual(await store.release(lease), { type: "released" });
    deepStrictEqual(await store.due(t0, 10), ["s"]);
    strictEqual(await claimAsBob(store, t0), true);
  },
  "a commit can also release the session": async ({ store }) => {
    const lease = await claim(store);
    await commit(store, lease, 0, { release: true });
    expectResultType(await store.commit(lease, createCommit(1)), "fenced");
    strictEqual(await claimAsBob(store, t0), true);
  },
  "a releasing commit writes nothing while a message is left": async ({ store }) => {
    const lease = await claim(store);
    await store.post("s", createMessage("m"));
    expectResultType(await store.commit(lease, createCommit(0, { release: true })), "inbox_not_empty");
    await expectLog(store, 0);
    strictEqual(await commit(store, lease, 0), 1);
  },
  "a releasing commit consumes messages first": async ({ store }) => {
    const lease = await claim(store);
    await store.post("s", createMessage("m"));
    await commit(store, lease, 0, { consume: ["m"], release: true });
    strictEqual(await claimAsBob(store, t0), true);
  },
  "a releasing commit is refused if it does not consume all messages": async ({ store }) => {
    const lease = await claim(store);
    for (const id of ["m1", "m2"]) await store.post("s", createMessage(id));
    expectResultType(await store.commit(lease, createCommit(0, { consume: ["m1"], release: true })), "inbox_not_empty");
    strictEqual((await store.inbox("s")).length, 2);
  },
  "a release by one process lets another claim the session": async ({ store, second }) => {
    const otherStore = await second();
    const lease = await claim(store);
    strictEqual(await claimAsBob(otherStore, t0), false);
    await store.release(lease);
    strictEqual(await claimAsBob(otherStore, t0), true);
  },
  "a new lease has a different epoch from the released one": async ({ store }) => {
    const first = await claim(store);
    await store.release(first);
    notStrictEqual((await claim(store)).epoch, first.epoch);
  },
});

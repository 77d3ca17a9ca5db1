/**
 * Blobs, deletion, verification and closing.
 */
import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import { createHash } from "node:crypto";
import type { Event } from "../../core/machine/event.js";
import {
  claim,
  claimAsBob,
  commit,
  createCases,
  createCommit,
  createHeldSession,
  createMessage,
  createRestingSession,
  expectError,
  expectLog,
  expectResultType,
  leaseMs,
  t0,
} from "./bench.js";

function sha256(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

export const blobCases = createCases(["STOR-1"], {
  "a blob is stored under its SHA-256": async ({ store, second }) => {
    await claim(store);
    const bytes = new TextEncoder().encode("a system prompt");
    const hash = await store.putBlob("s", bytes);
    strictEqual(hash, sha256(bytes));
    deepStrictEqual(await store.getBlob("s", hash), bytes);
    deepStrictEqual(await (await second()).getBlob("s", hash), bytes);
  },
  "bytes of all values are returned": async ({ store }) => {
    await claim(store);
    const bytes = Uint8Array.from({ length: 512 }, (_, index) => index % 256);
    deepStrictEqual(await store.getBlob("s", await store.putBlob("s", bytes)), bytes);
  },
  "a tool's return value is stored with what the model read, and the log refers to its blob": async ({
    store,
    second,
  }) => {
    const lease = await claim(store);
    const read = async (blob: string, expectedSeq: number): Promise<Event> => {
      const output = { type: "text", text: "2 rows" } as const;
      const returned = { type: "text", text: "…", full: { blob, bytes: 3, lines: 1 } } as const;
      const event: Event = { type: "late_result", callKey: "r/1/1", outcome: "ok", output, returned, at: t0 };
      await commit(store, lease, expectedSeq, { events: [event] });
      return event;
    };
    const event = await read(await store.putBlob("s", new Uint8Array([1, 2, 3])), 0);
    deepStrictEqual((await (await second()).read("s"))[0]?.event, event);
    deepStrictEqual(await store.verify(), []);
    await read("0".repeat(64), 1);
    strictEqual((await store.verify()).length, 1);
  },
  "an empty blob is returned": async ({ store }) => {
    await claim(store);
    const hash = await store.putBlob("s", new Uint8Array(0));
    deepStrictEqual(await store.getBlob("s", hash), new Uint8Array(0));
  },
  "a blob of 3 MiB is returned": async ({ store }) => {
    await claim(store);
    const bytes = new Uint8Array(3 * 1024 * 1024).fill(0xa5);
    const hash = await store.putBlob("s", bytes);
    strictEqual(sha256((await store.getBlob("s", hash)) ?? new Uint8Array(0)), hash);
  },
  "only the view is stored if it is part of a larger buffer": async ({ store }) => {
    await claim(store);
    const part = new Uint8Array([1, 2, 3, 4, 5, 6]).subarray(2, 4);
    deepStrictEqual(await store.getBlob("s", await store.putBlob("s", part)), new Uint8Array([3, 4]));
  },
  "storing the same blob twice is harmless": async ({ store }) => {
    await claim(store);
    const bytes = new Uint8Array([1, 2, 3]);
    strictEqual(await store.putBlob("s", bytes), await store.putBlob("s", bytes));
    deepStrictEqual(await store.verify(), []);
  },
  "bytes that change after the call do not change the blob": async ({ store }) => {
    await claim(store);
    const bytes = new Uint8Array([1, 2, 3]);
    const hash = await store.putBlob("s", bytes);
    bytes[0] = 9;
    const read = await store.getBlob("s", hash);
    if (read !== null) read[1] = 9;
    deepStrictEqual(await store.getBlob("s", hash), new Uint8Array([1, 2, 3]));
  },
  "an unknown hash returns null": async ({ store }) => {
    await claim(store);
    strictEqual(await store.getBlob("s", "0".repeat(64)), null);
    strictEqual(await store.getBlob("none", "0".repeat(64)), null);
  },
  "a blob belongs to its session": async ({ store }) => {
    await claim(store, "a");
    await claim(store, "b");
    const hash = await store.putBlob("a", new Uint8Array([1]));
    strictEqual(await store.getBlob("b", hash), null);
  },
  "a blob for a missing session is refused": async ({ store }) => {
    await expectError(() => store.putBlob("none", new Uint8Array([1])), "no_session");
  },
});

export const deleteCases = createCases(["STOR-1", "STOR-4", "SEC-14"], {
  "a session is deleted with its log, inbox and blobs": async ({ store }) => {
    await createRestingSession(store, "s");
    const hash = await store.putBlob("s", new Uint8Array([1]));
    await store.post("s", createMessage("m"));
    strictEqual(await store.delete("s", { now: t0 }), true);
    deepStrictEqual(await store.list(), []);
    deepStrictEqual(await store.inbox("s"), []);
    strictEqual(await store.getBlob("s", hash), null);
    deepStrictEqual(await store.due(t0 + 1e9, 10), []);
    await expectLog(store, 0);
    deepStrictEqual(await store.verify(), []);
  },
  "deleting a missing session returns false": async ({ store }) => {
    strictEqual(await store.delete("none", { now: t0 }), false);
  },
  "a session that is held is not deleted": async ({ store }) => {
    const lease = await claim(store);
    await expectError(() => store.delete("s", { now: t0 + 1 }), "session_active");
    strictEqual(await commit(store, lease, 0), 1);
  },
  "a session with an unfinished run is not deleted, even if it is not held": async ({ store }) => {
    for (const activity of ["active", "waiting"] as const) {
      await createRestingSession(store, activity, { activity });
      await expectError(() => store.delete(activity, { now: t0 }), "session_active");
      await expectLog(store, 1, activity);
    }
  },
  "a session at rest whose lease expired is deleted": async ({ store }) => {
    await commit(store, await claim(store), 0, { activity: "resting" });
    strictEqual(await store.delete("s", { now: t0 + leaseMs }), true);
  },
  "any session can be deleted by force": async ({ store }) => {
    await createHeldSession(store, 2);
    strictEqual(await store.delete("s", { now: t0, force: true }), true);
    await expectLog(store, 0);
  },
  "a deleted session starts over": async ({ store }) => {
    const lease = await createHeldSession(store, 3);
    await store.delete("s", { now: t0, force: true });
    await createHeldSession(store, 1);
    await expectLog(store, 1);
    expectResultType(await store.commit(lease, createCommit(3)), "fenced");
  },
  "a blob of a deleted session is not found in the new one": async ({ store }) => {
    await createRestingSession(store, "s");
    const hash = await store.putBlob("s", new Uint8Array([1]));
    await store.delete("s", { now: t0 });
    await claim(store);
    strictEqual(await store.getBlob("s", hash), null);
  },
  "other sessions are not changed": async ({ store }) => {
    await createRestingSession(store, "a");
    const lease = await createHeldSession(store, 4, "b");
    const hash = await store.putBlob("b", new Uint8Array([1]));
    await store.post("b", createMessage("m"));
    await store.delete("a", { now: t0 });
    await expectLog(store, 4, "b");
    ok((await store.getBlob("b", hash)) !== null);
    strictEqual((await store.inbox("b")).length, 1);
    strictEqual(await commit(store, lease, 4), 5);
  },
  "a session that one process deleted is gone for another": async ({ store, second }) => {
    const otherStore = await second();
    await createRestingSession(store, "s");
    await expectLog(otherStore, 1);
    await store.delete("s", { now: t0 });
    await expectLog(otherStore, 0);
    deepStrictEqual(await otherStore.list(), []);
  },
});

export const upkeepCases = createCases(["STOR-1", "STOR-4"], {
  "a sound store has no problems": async ({ store }) => {
    await createHeldSession(store, 5, "a");
    await createRestingSession(store, "b");
    await store.putBlob("a", new Uint8Array([1, 2]));
    await store.post("b", createMessage("m"));
    deepStrictEqual(await store.verify(), []);
    deepStrictEqual(await store.verify("a"), []);
    deepStrictEqual(await store.verify("none"), []);
  },
  "a closed store refuses calls": async ({ store }) => {
    const lease = await createHeldSession(store, 1);
    await store.close();
    for (const use of [
      () => store.load("s"),
      () => store.read("s"),
      () => store.list(),
      () => store.claim("s", { holder: lease.holder, now: t0, leaseMs }),
      () => store.commit(lease, createCommit(1)),
      () => store.post("s", createMessage("m")),
    ])
      await expectError(use, "store_closed");
  },
  "closing twice is allowed": async ({ store }) => {
    await store.close();
    await store.close();
    await expectError(() => store.list(), "store_closed");
  },
  "closing waits for work in flight": async ({ store, second }) => {
    const otherStore = await second();
    const lease = await claim(store);
    const committed = store.commit(lease, createCommit(0));
    await store.close();
    expectResultType(await committed, "ok");
    if (otherStore !== store) await expectLog(otherStore, 1);
  },
  "closing one handle leaves another open": async ({ store, second }) => {
    const otherStore = await second();
    await createHeldSession(store, 1);
    if (otherStore === store) return;
    await store.close();
    await expectLog(otherStore, 1);
    strictEqual(await claimAsBob(otherStore, t0 + leaseMs), true);
  },
});

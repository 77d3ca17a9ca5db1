/**
 * Connections that are cut before and after the COMMIT: what became of a statement is found out before anything follows.
 */
import { describe, expect, onTestFinished, test } from "vitest";
import type { Store } from "../../src/index.js";
import type { StoreChange } from "../../src/ports/store.js";
import { openPostgresStore } from "../../src/stores/postgres/index.js";
import { claim, createCommit, createMessage, readInboxIds, t0 } from "../../src/testing/conformance/bench.js";
import { type Cut, startCuttingProxy } from "../support/cutting-proxy.js";
import { createDatabase, hasPostgres, usePostgres } from "../support/postgres.js";
import { verifies } from "../verifies.js";

/** Longer than any lease of a test: the server's clock is the real one here. */
const leaseMs = 3_600_000;

describe.runIf(hasPostgres)("a connection that is cut", () => {
  const server = usePostgres(["fsync=off"]);

  /** A store behind a proxy, and one beside it. */
  async function behindProxy(busyMs = 10_000) {
    const url = await createDatabase(server());
    const proxy = await startCuttingProxy(Number(new URL(url).port));
    const through = url.replace(/:\d+\//, `:${proxy.port}/`);
    const beside = await openPostgresStore({ url });
    const store = await openPostgresStore({ url: through, listenUrl: url, busyMs });
    onTestFinished(async () => {
      await store.close();
      await beside.close();
      await proxy.close();
    });
    return { store, beside, proxy, database: url.split("/").at(-1) ?? "" };
  }

  const cuts: readonly Cut[] = ["before", "after"];
  const ways = [
    { what: "with events", events: 2 },
    { what: "that consumes", events: 1, consume: ["m"] },
    { what: "that releases", events: 1, consume: ["m"], release: true },
    { what: "that only consumes", events: 0, consume: ["m"] },
    { what: "that only releases", events: 0, consume: ["m"], release: true },
    { what: "that records an id", events: 1, record: ["own"] },
    { what: "that only records an id", events: 0, record: ["own"] },
  ];

  describe.each(cuts)("%s the COMMIT", (when) => {
    test.each(ways)("a commit $what is written once", verifies("DIST-2#outcome"), async ({ what: _, ...parts }) => {
      const { store, beside, proxy } = await behindProxy();
      const lease = await claim(store, "s", { leaseMs });
      await beside.post("s", createMessage("m"));
      const cutDone = proxy.cut(".append(", when);
      expect(await store.commit(lease, createCommit(0, parts))).toEqual({ type: "ok", seq: parts.events });
      await cutDone;
      expect((await beside.read("s")).map(({ seq }) => seq)).toEqual(
        parts.events === 2 ? [1, 2] : parts.events === 1 ? [1] : [],
      );
      expect(await readInboxIds(beside)).toEqual(parts.consume === undefined ? ["m"] : []);
      expect((await beside.describe("s"))?.holder === null).toBe(parts.release === true);
      const again = await beside.post("s", createMessage("own"));
      expect(again.type).toBe(parts.record === undefined ? "posted" : "duplicate");
      expect(await beside.verify()).toEqual([]);
    });

    test("commits of several sessions in one statement are each written once", verifies("DIST-2#outcome"), async () => {
      const { store, beside, proxy } = await behindProxy();
      const ids = Array.from({ length: 8 }, (_, index) => `s${index}`);
      const leases = await Promise.all(ids.map((id) => claim(store, id, { leaseMs })));
      const cutDone = proxy.cut(".append(", when);
      const results = await Promise.all(leases.map((lease) => store.commit(lease, createCommit(0))));
      await cutDone;
      expect(results).toEqual(ids.map(() => ({ type: "ok", seq: 1 })));
      for (const id of ids) expect(await beside.read(id)).toHaveLength(1);
    });

    test("a post is one message, and said to be posted", verifies("STOR-2", "DIST-2#outcome"), async () => {
      const { store, beside, proxy } = await behindProxy();
      const cutDone = proxy.cut(".post(", when);
      expect(await store.post("s", createMessage("m"))).toEqual({ type: "posted" });
      await cutDone;
      expect(await readInboxIds(beside)).toEqual(["m"]);
      // Another message of this id came first, and is no one's second attempt.
      await beside.post("s", createMessage("taken", t0, "first"));
      const cutAgain = proxy.cut(".post(", when);
      expect(await store.post("s", createMessage("taken", t0, "second"))).toEqual({ type: "duplicate" });
      await cutAgain;
    });

    test("a claim, a renewal and a release hold", verifies("DIST-2#outcome"), async () => {
      const { store, beside, proxy } = await behindProxy();
      const claiming = proxy.cut(".claim(", when);
      const lease = await claim(store, "s", { leaseMs });
      await claiming;
      const renewing = proxy.cut("lease_until", when);
      expect(await store.renew([lease], t0, leaseMs)).toEqual([]);
      await renewing;
      expect((await beside.claim("s", { holder: { ...lease.holder, id: "b" }, now: t0, leaseMs })).type).toBe("held");
      expect(await store.commit(lease, createCommit(0))).toMatchObject({ type: "ok" });
      const releasing = proxy.cut(".release(", when);
      await store.release(lease);
      await releasing;
      expect((await beside.describe("s"))?.holder).toBeNull();
    });

    test("a deletion is reported", verifies("STOR-4", "DIST-2#outcome"), async () => {
      const { store, beside, proxy } = await behindProxy();
      await beside.post("s", createMessage("m"));
      const changes: StoreChange[] = [];
      onTestFinished(store.watch((change) => void changes.push(change)));
      const cutDone = proxy.cut(".remove(", when);
      expect(await store.delete("s", { now: t0 })).toBe(true);
      await cutDone;
      expect(changes.some(({ sessionId }) => sessionId === "s")).toBe(true);
      expect(await beside.list()).toEqual([]);
    });
  });

  test("a commit that the server still works on is written once", verifies("DIST-2#outcome"), async () => {
    const { store, beside, proxy, database } = await behindProxy();
    for (const parts of [{}, { release: true }, { events: 0, release: true }]) {
      const sessionId = `s ${JSON.stringify(parts)}`;
      const lease = await claim(store, sessionId, { leaseMs });
      // Somebody else has the session's row for a while, so both attempts of the commit wait for it.
      const blocked = server().run(
        `BEGIN; SELECT 1 FROM pawl.sessions WHERE name = '${sessionId}' FOR UPDATE; SELECT pg_sleep(0.5); COMMIT`,
        database,
      );
      await until(async () => (await locksOf(database)) > 0);
      const cutDone = proxy.cut(".append(", "meanwhile");
      const result = await store.commit(lease, createCommit(0, parts));
      await Promise.all([cutDone, blocked]);
      const events = parts.events ?? 1;
      expect(result).toEqual({ type: "ok", seq: events });
      expect(await beside.read(sessionId)).toHaveLength(events);
    }
  });

  const locksOf = async (database: string) =>
    (
      await server().run(
        "SELECT 1 FROM pg_locks WHERE mode = 'RowShareLock' AND relation = 'pawl.sessions'::regclass",
        database,
      )
    ).length;

  test("an outage longer than the patience is an error, and what was not answered may be there", async () => {
    const { store, beside, proxy } = await behindProxy(100);
    const lease = await claim(store, "s", { leaseMs });
    proxy.refuseConnections();
    await expect(store.commit(lease, createCommit(0))).rejects.toMatchObject({ code: "store_failed" });
    await expect(store.read("s")).rejects.toMatchObject({ code: "store_failed" });
    proxy.acceptConnections();
    const { seq = 0 } = (await beside.describe("s")) ?? {};
    expect(await store.commit(lease, createCommit(seq))).toEqual({ type: "ok", seq: seq + 1 });
  });
});

describe.runIf(hasPostgres)("changes by others", () => {
  const server = usePostgres(["fsync=off"]);

  /** Two stores: one hears through a proxy, the other writes. */
  async function twoStores(pollMs: number) {
    const url = await createDatabase(server());
    const proxy = await startCuttingProxy(Number(new URL(url).port));
    const listenUrl = url.replace(/:\d+\//, `:${proxy.port}/`);
    const writer = await openPostgresStore({ url });
    const watcher = await openPostgresStore({ url, listenUrl, pollMs });
    onTestFinished(async () => {
      await watcher.close();
      await writer.close();
      await proxy.close();
    });
    return { watcher, writer, proxy };
  }

  /** Resolves when the watcher is told of something. */
  const told = (watcher: Store, what: (change: StoreChange) => boolean) =>
    new Promise<void>((resolve) => {
      const stop = watcher.watch((change) => {
        if (!what(change)) return;
        stop();
        resolve();
      });
    });
  const oneHour = 3_600_000;

  test("are heard as soon as the store is open", verifies("STOR-2"), async () => {
    const { watcher, writer } = await twoStores(oneHour);
    const heard = told(watcher, ({ sessionId }) => sessionId === "s");
    await writer.post("s", createMessage("m"));
    await heard;
  });

  test("are found without a notification", verifies("STOR-2"), async () => {
    const { watcher, writer, proxy } = await twoStores(20);
    proxy.refuseConnections();
    const heard = told(watcher, (change) => change.sessionId === "s" && change.in === "inbox");
    await writer.post("s", createMessage("m"));
    await heard;
  });

  test("are found when notifications are heard again", verifies("STOR-2"), async () => {
    const { watcher, writer, proxy } = await twoStores(oneHour);
    const heard = told(watcher, ({ sessionId }) => sessionId === "s");
    proxy.refuseConnections();
    await writer.post("s", createMessage("m"));
    proxy.acceptConnections();
    await heard;
  });

  test("that are too many to be told one by one are told as a gap", verifies("STOR-2"), async () => {
    const { watcher, writer, proxy } = await twoStores(oneHour);
    proxy.refuseConnections();
    const heard = told(watcher, ({ gap }) => gap === true);
    for (let start = 0; start < 1_100; start += 100)
      await Promise.all(
        Array.from({ length: 100 }, (_, index) => writer.post("s", createMessage(`m${start + index}`))),
      );
    proxy.acceptConnections();
    await heard;
  });
});

async function until(holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds())) await new Promise((resolve) => setTimeout(resolve, 5));
}

/**
 * Waits and signals that come at the same time, from many connections of a PostgreSQL server.
 */
import { describe, expect, test } from "vitest";
import type { SignalWait } from "../../src/core/machine/signal-waits.js";
import { openPostgresStore } from "../../src/stores/postgres/index.js";
import { claim, createCommit, createState, t0 } from "../../src/testing/conformance/bench.js";
import { createDatabase, hasPostgres, usePostgres } from "../support/postgres.js";
import { verifies } from "../verifies.js";

const sessions = 5;
const rounds = 100;

describe.runIf(hasPostgres)("on PostgreSQL", () => {
  const server = usePostgres(["fsync=off"]);

  test("none of 1,000 waits misses its signal, and nobody waits in a circle", verifies("TIME-2"), async () => {
    const url = await createDatabase(server());
    const store = await openPostgresStore({ url, connections: 6 });
    const other = await openPostgresStore({ url, connections: 6 });
    const leases = await Promise.all(Array.from({ length: sessions }, (_, number) => claim(store, `s${number}`)));
    for (let round = 0; round < rounds; round += 1) {
      const keys = [`key ${round} a`, `key ${round} b`];
      const commits = leases.map(async (lease, number) => {
        const consume = (await store.inbox(lease.sessionId)).map(({ id }) => id);
        // Each other session locks the keys in another order.
        const waits = (number % 2 === 0 ? keys : keys.toReversed()).map(
          (key): SignalWait => ({ callKey: "run 1/1/1", step: key, key }),
        );
        return store.commit(
          lease,
          createCommit(round, { state: createState(round + 1, "tool_running"), waits, consume }),
        );
      });
      const signals = keys.map((key) =>
        other.signals?.send({ id: "1", key, at: t0, keptUntil: t0 + 1e9, value: null }),
      );
      const results = [...(await Promise.all(commits)), ...(await Promise.all(signals))];
      expect(results.map((result) => result?.type)).toEqual(results.map(() => "ok"));
    }
    for (const { sessionId } of leases)
      expect(await store.messageIds(sessionId, { limit: 10_000 }), sessionId).toHaveLength(2 * rounds);
    await store.close();
    await other.close();
  });
});

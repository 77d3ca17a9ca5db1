import { describe, expect, test } from "vitest";
import { pruneSessions } from "../../src/runtime/api/prune.js";
import { createMemoryStore } from "../../src/stores/memory/index.js";
import { openSqliteStore } from "../../src/stores/sqlite/index.js";
import {
  claim,
  createHeldSession,
  createMessage,
  createRestingSession,
  t0,
} from "../../src/testing/conformance/bench.js";
import { verifies } from "../verifies.js";

const stores = {
  memory: async () => createMemoryStore(),
  SQLite: () => openSqliteStore({ path: ":memory:" }),
};

describe.for(Object.entries(stores))("pruning %s", ([, open]) => {
  test("deletes what is older, and nothing else", verifies("STOR-4"), async () => {
    const store = await open();
    for (let index = 0; index < 250; index++) await createRestingSession(store, `s${index}`, { at: t0 + index });
    const { deleted, kept } = await pruneSessions(store, { before: t0 + 230, now: t0 + 1000 });
    expect(deleted).toHaveLength(230);
    expect(kept).toEqual([]);
    expect((await store.list()).map((session) => session.updatedAt - t0)).toEqual(
      Array.from({ length: 20 }, (_, index) => 249 - index),
    );
    await store.close();
  });

  test("keeps what is not done", verifies("STOR-4"), async () => {
    const store = await open();
    await createRestingSession(store, "old");
    await createRestingSession(store, "waiting", { activity: "waiting" });
    await createRestingSession(store, "unread");
    await store.post("unread", createMessage("m"));
    await createHeldSession(store, 1, "running");
    await createRestingSession(store, "held");
    await claim(store, "held");
    const { deleted, kept } = await pruneSessions(store, { before: t0 + 1000, now: t0 + 1 });
    expect(deleted).toEqual(["old"]);
    expect([...kept].sort()).toEqual(["held", "running", "unread", "waiting"]);
    await store.close();
  });

  test("finds nothing in an empty store", async () => {
    const store = await open();
    expect(await pruneSessions(store, { before: t0, now: t0 })).toEqual({ deleted: [], kept: [] });
    await store.close();
  });
});

import { describe, expect, test } from "vitest";
import { createAgent, createClient, createWorker, type Store } from "../../src/index.js";
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
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import { createTestClock } from "../../src/testing/test-clock.js";
import { waitUntil } from "../families/tree.js";
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

  test("keeps a session that gets a message while others are deleted", verifies("STOR-4"), async () => {
    const inner = await open();
    await createRestingSession(inner, "first", { at: t0 + 1 });
    await createRestingSession(inner, "second", { at: t0 });
    const store: Store = {
      ...inner,
      async delete(sessionId, options) {
        const isDeleted = await inner.delete(sessionId, options);
        await createClient({ store: inner }).session("second").send("Are you there?", { agent: "agent" });
        return isDeleted;
      },
    };
    expect(await pruneSessions(store, { before: t0 + 2, now: t0 + 2 })).toEqual({
      deleted: ["first"],
      kept: ["second"],
    });
    expect(await inner.inbox("second")).toHaveLength(1);
    await inner.close();
  });

  test("keeps a session with a message that is sent later", verifies("STOR-4", "TIME-3"), async () => {
    const store = await open();
    const clock = createTestClock(t0);
    const agent = createAgent({ model: createScriptedModel(() => ({ text: "Done." })), store, clock });
    await agent.run("Go.", { sessionId: "s" });
    await agent.session("s").send("Remember.", { afterMs: 1_000, runId: "later" });
    await waitUntil(async () => (await store.describe("s"))?.holder === null);
    const pruned = await pruneSessions(store, { before: t0 + 500, now: t0 + 500 });
    expect(pruned).toEqual({ deleted: [], kept: ["s"] });
    await clock.advance(1_000);
    await createWorker({ store, agents: [agent], clock }).runUntilIdle();
    expect(await agent.session("s").result("later")).toMatchObject({ status: "completed" });
    await waitUntil(async () => (await store.describe("s"))?.holder === null);
    expect((await pruneSessions(store, { before: t0 + 2_000, now: t0 + 2_000 })).deleted).toEqual(["s"]);
    await store.close();
  });

  test("finds nothing in an empty store", async () => {
    const store = await open();
    expect(await pruneSessions(store, { before: t0, now: t0 })).toEqual({ deleted: [], kept: [] });
    await store.close();
  });
});

/**
 * Sessions that wait for signals, and signals that are kept, in exports and imports.
 */
import { describe, expect, test } from "vitest";
import { createAgent, createClient, createMemoryStore, createSchedules, createWorker } from "../../src/index.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import { createTestClock } from "../../src/testing/test-clock.js";
import { createDurableAgent } from "../support/durable-tool.js";
import { localStores, withStore } from "../support/stores.js";
import { exportToText, importText } from "../transfer/transfer.js";
import { verifies } from "../verifies.js";

describe.each(localStores)("a store that is imported into $name", ({ open }) => {
  test("has the waits of its sessions, what they were given, and the signals that are kept", verifies("TIME-2"), () =>
    withStore(open, async (target) => {
      // Exports leave out signals that are kept no longer by the machine's clock.
      const clock = createTestClock(Date.now());
      const bench = (store: typeof target) => ({
        agent: createDurableAgent(
          async ({ waitFor }) => {
            const first = await waitFor("first", { key: "order-7" });
            const second = await waitFor("second", { key: "order-7" });
            const early = await waitFor("early", { key: "early" });
            return [first, second, early].map((one) => (one.type === "signalled" ? one.value : one.type)).join(", ");
          },
          {},
          { store, clock },
        ),
        signal: createClient({ store, clock }).signal,
      });
      const source = createMemoryStore();
      const before = bench(source);
      await before.agent.run("Go", { sessionId: "s" });
      await before.signal("order-7", "one", { keepMs: 0 });
      await before.signal("early", "bird");
      await before.signal("early", "late", { keepMs: 0 });
      await importText(target, await exportToText(source));
      expect(await target.verify()).toEqual([]);
      const after = bench(target);
      // The wait has got its signal already: the next one is for the next wait.
      expect(await after.signal("order-7", "two")).toMatchObject({ sessions: [] });
      expect(await after.agent.session("s").resume()).toMatchObject({ status: "completed" });
      const finished = (await target.read("s")).find(({ event }) => event.type === "tool_finished")?.event;
      expect(finished).toMatchObject({ output: { text: "one, two, bird" } });
      expect(await target.verify()).toEqual([]);
    }),
  );

  test("has the schedules, and the delayed messages of its sessions", verifies("TIME-3", "TIME-4#schedules"), () =>
    withStore(open, async (target) => {
      const clock = createTestClock(Date.UTC(2025, 10, 29, 12));
      const source = createMemoryStore();
      const schedules = createSchedules({ store: source, clock });
      await schedules.put({ id: "each", cron: "* * * * *", agent: "press", input: "What is new?" });
      const model = createScriptedModel(() => ({ text: "Nothing." }));
      await createAgent({ name: "press", model, store: source, clock }).run("Begin.", { sessionId: "s" });
      await createClient({ store: source, clock }).session("s").send("Later.", { afterMs: 60_000, runId: "later" });
      const lines = await exportToText(source);
      await importText(target, lines);
      // A repeated import finds what it has put.
      await importText(target, lines).catch((error: unknown) => expect(error).toMatchObject({ code: "session_busy" }));
      expect(await createSchedules({ store: target }).get("each")).toEqual(await schedules.get("each"));
      expect(await createClient({ store: target }).session("s").scheduled()).toEqual(
        await createClient({ store: source }).session("s").scheduled(),
      );
      clock.jump(60_000);
      const press = createAgent({ name: "press", model, store: target, clock });
      await createWorker({ store: target, agents: [press], clock }).runUntilIdle();
      expect(await press.session("s").result("later")).toMatchObject({ status: "completed" });
      expect(await press.session("each@2025-11-29T12:01:00.000Z").result()).toMatchObject({ status: "completed" });
      expect(await target.verify()).toEqual([]);
    }),
  );

  test(
    "has schedules, and delayed messages of sessions that have not begun, if there are no sessions",
    verifies("TIME-3"),
    () =>
      withStore(open, async (target) => {
        const clock = createTestClock(Date.UTC(2025, 10, 29, 12));
        const source = createMemoryStore();
        const begun = { agent: "press", afterMs: 60_000 };
        await createSchedules({ store: source, clock }).put({
          id: "each",
          everyMs: 5_000,
          agent: "press",
          input: "Go",
        });
        await createClient({ store: source, clock })
          .session("s")
          .send("Later.", { ...begun, runId: "later" });
        await createClient({ store: source, clock })
          .session("t")
          .send("Later.", { ...begun, runId: "later" });
        const lines = await exportToText(source);
        await importText(target, lines);
        await importText(target, lines);
        expect(await createSchedules({ store: target }).list()).toEqual(
          await createSchedules({ store: source }).list(),
        );
        for (const id of ["s", "t"])
          expect(await createClient({ store: target }).session(id).scheduled()).toMatchObject([{ runId: "later" }]);
        expect(await target.list()).toEqual([]);
      }),
  );

  test("has a schedule that still waits for its last run", verifies("TIME-3"), () =>
    withStore(open, async (target) => {
      const clock = createTestClock(Date.UTC(2025, 10, 29, 12));
      const source = createMemoryStore();
      const asks = { description: "Asks.", input: { type: "object" }, needsApproval: true, execute: () => "Done." };
      const createPress = (store: typeof target) =>
        createAgent({
          name: "press",
          model: createScriptedModel(({ messages }) =>
            messages.at(-1)?.role === "tool" ? { text: "Done." } : { calls: [{ name: "publish" }] },
          ),
          tools: [{ name: "publish", ...asks }],
          store,
          clock,
        });
      const press = createPress(source);
      const schedules = createSchedules({ store: source, clock });
      await schedules.put({ id: "each", everyMs: 60_000, agent: "press", input: "Publish." });
      clock.jump(60_000);
      await createWorker({ store: source, agents: [press], clock }).runUntilIdle();
      await press.shutdown();
      const lines = await exportToText(source);
      // The process dies before the import has written the last run of the schedule.
      const rows = target.schedules;
      if (rows === undefined) throw new Error("the store has no schedules");
      const dying = { ...target, schedules: { ...rows, fire: () => Promise.reject(new Error("killed")) } };
      await expect(importText(dying, lines)).rejects.toThrow("killed");
      await importText(target, lines);
      expect(await createSchedules({ store: target }).get("each")).toEqual(await schedules.get("each"));
      clock.jump(60_000);
      await createWorker({ store: target, agents: [createPress(target)], clock }).runUntilIdle();
      expect(await target.list()).toHaveLength(1);
      expect(await createSchedules({ store: target }).slots("each")).toMatchObject([{ outcome: "overlap" }]);
    }),
  );

  test.each([
    ["a schedule with an id that is not one", (line: string) => line.replace('"id":"each"', '"id":"a/b"')],
    [
      "a schedule whose last run is not one",
      (line: string) => line.replace('"id":"each"', '"id":"each","last":{"slot":1}'),
    ],
    ["a delayed message of another session", (line: string) => line.replace('"send:s:later"', '"send:t:later"')],
  ])("refuses %s", verifies("TIME-4#schedules"), (_, change) =>
    withStore(open, async (target) => {
      const clock = createTestClock(Date.UTC(2025, 10, 29, 12));
      const source = createMemoryStore();
      await createSchedules({ store: source, clock }).put({ id: "each", everyMs: 5_000, agent: "press", input: "Go" });
      const model = createScriptedModel(() => ({ text: "Nothing." }));
      await createAgent({ name: "press", model, store: source, clock }).run("Begin.", { sessionId: "s" });
      await createClient({ store: source, clock }).session("s").send("Later.", { afterMs: 60_000, runId: "later" });
      const changed = importText(target, change(await exportToText(source)));
      await expect(changed).rejects.toMatchObject({ code: "bad_input" });
      expect(await target.list()).toEqual([]);
    }),
  );
});

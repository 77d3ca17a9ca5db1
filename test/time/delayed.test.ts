/**
 * Messages that are sent to a session now and posted later.
 */
import { describe, expect, test } from "vitest";
import {
  createAgent,
  createClient,
  createMemoryStore,
  createWorker,
  type Store,
  type WorkerReport,
} from "../../src/index.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import { createTestClock } from "../../src/testing/test-clock.js";
import { localStores, withStore } from "../support/stores.js";
import { verifies } from "../verifies.js";

const proven = verifies("TIME-3");
const anHour = 3_600_000;
const withMemory = (work: (store: Store) => Promise<void>) => work(createMemoryStore());
const noon = Date.UTC(2025, 10, 29, 12);

describe.each(localStores)("in $name", ({ open }) => {
  test("a delayed message starts a run at its time, also in a session that did not exist", proven, () =>
    withStore(open, async (store) => {
      const clock = createTestClock(noon);
      const agent = createAgent({ model: createScriptedModel([{ text: "Good morning." }]), store, clock });
      const worker = createWorker({ store, agents: [agent], clock });
      const session = agent.session("s");
      const at = new Date(noon + anHour);
      expect(await session.send("Say good morning.", { at, runId: "r", by: "ada" })).toEqual({
        runId: "r",
        isNew: true,
      });
      expect(await session.send("Again.", { afterMs: 1, runId: "r" })).toEqual({ runId: "r", isNew: false });
      const input = [{ role: "user", parts: [{ type: "text", text: "Say good morning." }] }];
      expect(await session.scheduled()).toEqual([{ runId: "r", at: at.getTime(), input, mode: "queue", by: "ada" }]);
      clock.jump(anHour - 1);
      await worker.runUntilIdle();
      expect(await store.list()).toEqual([]);
      clock.jump(1);
      await worker.runUntilIdle();
      expect(await session.result("r")).toMatchObject({ status: "completed", text: "Good morning." });
      expect(await session.scheduled()).toEqual([]);
      expect(await session.send("Again.", { afterMs: 1, runId: "r" })).toEqual({ runId: "r", isNew: false });
      expect(await session.scheduled()).toEqual([]);
      expect(await store.verify()).toEqual([]);
    }),
  );

  test("a long delayed message is cut in a list, and whole by its run id", proven, () =>
    withStore(open, async (store) => {
      const session = createClient({ store, clock: createTestClock(noon) }).session("s");
      const text = "Ask about the parcel. ".repeat(500);
      await session.send(text, { agent: "press", afterMs: 1_000, runId: "long" });
      const image = { type: "file", data: "AAAA".repeat(1_250), mediaType: "image/png" } as const;
      await session.send([{ type: "text", text: "Look." }, image], { agent: "press", afterMs: 2_000, runId: "image" });
      const [long, withImage] = await session.scheduled();
      expect(JSON.stringify(long?.input).length).toBeLessThan(1_100);
      expect(long?.input).toMatchObject([{ parts: [{ text: expect.stringMatching(/^Ask about .* …$/) }] }]);
      expect(long?.inputSize).toBeGreaterThan(text.length);
      expect(withImage?.input).toEqual([{ role: "user", parts: [{ type: "text", text: "Look." }] }]);
      const [whole] = await session.scheduled({ runId: "long" });
      expect(whole).toEqual({
        ...{ runId: "long", at: noon + 1_000, mode: "queue" },
        input: [{ role: "user", parts: [{ type: "text", text }] }],
      });
      expect(await session.scheduled({ runId: "none" })).toEqual([]);
    }),
  );

  test("a delayed message can be withdrawn until it is posted", proven, () =>
    withStore(open, async (store) => {
      const clock = createTestClock(noon);
      const session = createClient({ store, clock }).session("a:b");
      await session.send("One.", { agent: "press", afterMs: 1_000, runId: "run-1" });
      await session.send("Two.", { agent: "press", afterMs: 2_000, runId: "run-10" });
      expect((await session.scheduled()).map(({ runId }) => runId)).toEqual(["run-1", "run-10"]);
      expect(await session.unsend("run-10")).toBe("unsent");
      expect(await session.unsend("run-10")).toBe("unknown");
      clock.jump(1_000);
      await createWorker({ store, agents: [], clock }).runUntilIdle();
      expect(await session.unsend("run-1")).toBe("too_late");
      expect((await store.inbox("a:b")).map(({ id }) => id)).toEqual(["run/run-1"]);
      expect(await session.scheduled()).toEqual([]);
    }),
  );

  test("a delayed message whose run was requested since cannot be withdrawn", proven, () =>
    withStore(open, async (store) => {
      const session = createClient({ store, clock: createTestClock(noon) }).session("s");
      await session.send("Later.", { agent: "press", afterMs: 1_000, runId: "r" });
      await session.send("Now.", { agent: "press", runId: "r" });
      expect(await session.unsend("r")).toBe("too_late");
      expect((await store.inbox("s")).map(({ id }) => id)).toEqual(["run/r"]);
      expect(await session.scheduled()).toEqual([]);
    }),
  );
});

test("a delayed message that steers joins the run that is under way at its time", proven, () =>
  withMemory(async (store) => {
    const clock = createTestClock(noon);
    const agent = createAgent({
      model: createScriptedModel([{ calls: [{ name: "nothing" }] }, { text: "Done." }]),
      store,
      clock,
      tools: [
        {
          name: "nothing",
          description: "Waits for a person.",
          input: { type: "object" },
          needsApproval: true,
          execute: () => "nothing",
        },
      ],
    });
    await agent.run("Begin.", { sessionId: "s", runId: "first" });
    const session = agent.session("s");
    await session.send("Be brief.", { mode: "steer", afterMs: 1_000 });
    clock.jump(1_000);
    await createWorker({ store, agents: [agent], clock }).runUntilIdle();
    const events = (await store.read("s")).map(({ event }) => event.type);
    expect(events.filter((type) => type === "run_started")).toHaveLength(1);
    expect(events).toContain("steered");
  }),
);

test("a redaction removes a text from delayed messages, which are posted without it", proven, () =>
  withMemory(async (store) => {
    const clock = createTestClock(noon);
    const agent = createAgent({ model: createScriptedModel(() => ({ text: "Done." })), store, clock });
    await agent.run("Begin.", { sessionId: "s" });
    const session = agent.session("s");
    await session.send("The key is hunter2-hunter2.", { afterMs: 1_000, runId: "later" });
    await session.send("Nothing secret.", { afterMs: 2_000 });
    await session.redact({ text: "hunter2-hunter2" });
    const inputs = (await session.scheduled()).map(({ input }) => JSON.stringify(input));
    expect(inputs).toEqual([
      expect.stringContaining("The key is [redacted]."),
      expect.stringContaining("Nothing secret."),
    ]);
    clock.jump(1_000);
    await createWorker({ store, agents: [agent], clock }).runUntilIdle();
    expect(await session.result("later")).toMatchObject({ status: "completed" });
    expect(JSON.stringify(await store.read("s"))).not.toContain("hunter2");
  }),
);

test(
  "a redaction reaches the options of delayed messages, keeps their fields, and masks what is changed meanwhile",
  proven,
  () =>
    withMemory(async (inner) => {
      const { schedules: rows } = inner;
      if (rows === undefined) throw new Error("There are no schedules.");
      let conflicts = 0;
      const store: Store = {
        ...inner,
        schedules: {
          ...rows,
          async put(row, seen) {
            if (row.rev === 1 || conflicts > 0) return rows.put(row, seen);
            // Another process was first.
            conflicts += 1;
            return { type: "conflict", rev: row.rev };
          },
        },
      };
      const clock = createTestClock(noon);
      const agent = createAgent({ model: createScriptedModel(() => ({ text: "Done." })), store, clock });
      await agent.run("Begin.", { sessionId: "s" });
      const session = agent.session("s");
      const options = { afterMs: 1_000, runId: "later", by: "ada", systemPrompt: "The key is hunter2-hunter2." };
      await session.send("Go on.", options);
      await session.redact({ text: ["hunter2-hunter2", "principal"] });
      const [row] = await rows.list({ sessionId: "s", limit: 10 });
      expect(row?.body).toMatchObject({
        message: { options: { systemPrompt: "The key is [redacted]." }, session: { principal: "ada" } },
      });
      expect(JSON.stringify(row)).not.toContain("hunter2");
      expect(conflicts).toBe(1);
    }),
);

test("a worker reports each delayed message that it posts", proven, () =>
  withMemory(async (store) => {
    const clock = createTestClock(noon);
    await createClient({ store, clock }).session("s").send("Hello.", { agent: "press", afterMs: 5, runId: "r" });
    clock.jump(10);
    const reports: WorkerReport[] = [];
    await createWorker({ store, agents: [], clock, onReport: (report) => reports.push(report) }).runUntilIdle();
    expect(reports).toMatchObject([
      { type: "fired", scheduleId: "send:s:r", slot: noon + 5, sessionId: "s", runId: "r" },
      { type: "refused" },
    ]);
  }),
);

test("a time in the past is now", proven, () =>
  withMemory(async (store) => {
    const session = createClient({ store, clock: createTestClock(noon) }).session("s");
    await session.send("Hello.", { agent: "press", at: "2025-11-29T11:59:59Z", runId: "r" });
    expect((await store.inbox("s")).map(({ id }) => id)).toEqual(["run/r"]);
  }),
);

test.each<[object, RegExp]>([
  [{ at: "tomorrow" }, /`at` must be epoch milliseconds/],
  [{ at: 5, afterMs: 5 }, /give either/],
  [{ afterMs: -1 }, /afterMs/],
  [{ afterMs: 5, mode: "reject" }, /mode "reject"/],
  [{ at: noon + 4_000 * 86_400_000 }, /within ten years/],
])("send() with %j is refused", proven, async (options, message) => {
  await withMemory(async (store) => {
    const session = createClient({ store, clock: createTestClock(noon) }).session("s");
    const sent = session.send("Hello.", { agent: "press", ...options });
    await expect(sent).rejects.toMatchObject({ code: "bad_input", message: expect.stringMatching(message) });
    expect(await session.scheduled()).toEqual([]);
  });
});

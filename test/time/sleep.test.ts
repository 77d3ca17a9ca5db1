/**
 * Sleeps of tools: no process holds them, and they end when their time has come.
 */
import { describe, expect, test } from "vitest";
import { createClient, createMemoryStore, type Store, type ToolContext } from "../../src/index.js";
import { createTestClock } from "../../src/testing/test-clock.js";
import { createDurableAgent, readEvents } from "../support/durable-tool.js";
import { verifies } from "../verifies.js";

const aDay = 86_400_000;
const proven = verifies("TIME-1");

function bench(execute: (context: ToolContext) => unknown, agentOptions: object = {}) {
  const store = createMemoryStore();
  const clock = createTestClock();
  const start = () => createDurableAgent(execute, {}, { store, clock, ...agentOptions });
  return { store, clock, start };
}

/** The output of the last call, as text. */
async function readOutput(store: Store): Promise<unknown> {
  const finished = (await readEvents(store)).findLast((event) => event.type === "tool_finished");
  return finished?.output?.type === "text" ? finished.output.text : undefined;
}

describe("a tool that sleeps", () => {
  test("is held by no process, and goes on in another one when its time has come", proven, async () => {
    const runs: number[] = [];
    const { store, clock, start } = bench(async ({ sleep }) => {
      runs.push(clock.now());
      await sleep("until delivery", { ms: 3 * aDay });
      return "Delivered.";
    });
    const first = start();
    const until = clock.now() + 3 * aDay;
    expect(await first.run("Go", { sessionId: "s" })).toMatchObject({
      status: "waiting",
      waits: [{ step: "until delivery", on: "time", until }],
    });
    expect(await store.describe("s")).toMatchObject({ holder: null, activity: "waiting" });
    expect(await store.asking()).toEqual([]);
    await first.shutdown();
    clock.jump(3 * aDay - 1);
    expect(await store.due(clock.now(), 10)).toEqual([]);
    // It does not end before its time, whoever looks.
    expect(await start().session("s").resume()).toMatchObject({ status: "waiting" });
    clock.jump(1);
    expect(await store.due(clock.now(), 10)).toEqual(["s"]);
    expect(await start().session("s").resume()).toMatchObject({ status: "completed" });
    expect(runs).toHaveLength(2);
    expect(
      (await readEvents(store)).filter(({ type }) => type === "tool_asked" || type === "timer_fired"),
    ).toMatchObject([
      { type: "tool_asked", step: "until delivery", for: "time", expiresAt: until },
      { type: "timer_fired", timer: "wait", questionId: "until delivery", at: until },
    ]);
  });

  test("stops the wall clock of its run, unless the limit includes waiting", proven, async () => {
    const limits = { maxWallClockMs: 3_600_000 };
    for (const wallClockIncludesWaiting of [false, true]) {
      const { clock, start } = bench(({ sleep }) => sleep("night", { ms: aDay }), {
        limits: { ...limits, wallClockIncludesWaiting },
      });
      expect(await start().run("Go", { sessionId: "s" })).toMatchObject({ status: "waiting" });
      clock.jump(aDay);
      expect(await start().session("s").resume()).toMatchObject(
        wallClockIncludesWaiting ? { status: "failed", reason: "max_wall_clock" } : { status: "completed" },
      );
    }
  });

  test("keeps its process for a sleep of up to five seconds", proven, async () => {
    const { store, clock, start } = bench(async ({ sleep }) => {
      for (let n = 0; n < 3; n += 1) await sleep("pause", { ms: 5_000 });
      return "Polled.";
    });
    const run = start().run("Go", { sessionId: "s" });
    await clock.runUntilIdle({ maxMs: 60_000 });
    expect(await run).toMatchObject({ status: "completed" });
    expect((await readEvents(store)).filter(({ type }) => type === "restarted")).toEqual([]);
  });

  test("does not sleep until a time that has passed, and takes the same way when it runs again", proven, async () => {
    const { store, clock, start } = bench(async ({ sleep, step }) => {
      await sleep("past", { until: new Date(0) });
      await step("look", () => "seen");
      await sleep("night", { until: "1970-01-02T00:00:00Z" });
      return step("end", () => "Over.");
    });
    expect(await start().run("Go", { sessionId: "s" })).toMatchObject({
      status: "waiting",
      waits: [{ step: "night", until: aDay }],
    });
    clock.jump(aDay);
    expect(await start().session("s").resume()).toMatchObject({ status: "completed" });
    expect(await readOutput(store)).toBe("Over.");
  });

  test("ends at once with an abort, and the call is interrupted", proven, async () => {
    const { store, start } = bench(({ sleep }) => sleep("night", { ms: aDay }));
    await start().run("Go", { sessionId: "s" });
    const session = start().session("s");
    await session.abort();
    expect(await session.result()).toMatchObject({ status: "aborted" });
    expect((await readEvents(store)).find(({ type }) => type === "tool_finished")).toMatchObject({
      outcome: "interrupted",
    });
    expect(await store.due(Number.MAX_SAFE_INTEGER, 10)).toEqual([]);
  });

  test("sleeps beside a question: a person is asked first, and then the run goes on sleeping", proven, async () => {
    const { clock, start } = bench(async ({ ask, sleep }) => {
      await Promise.all([sleep("night", { ms: aDay }), ask({ name: "which", message: "Which?" })]);
      return "Both.";
    });
    const { sessionId, ...result } = await start().run("Go", { sessionId: "s" });
    if (result.status !== "awaiting_human") throw new Error(`the run is ${result.status}`);
    const [{ callKey = "", questionId = "" } = {}] = result.approvals;
    const session = start().session(sessionId);
    await session.answer(callKey, { type: "reply", value: "this" }, { questionId });
    expect(await session.resume()).toMatchObject({ status: "waiting", waits: [{ step: "night" }] });
    // Who follows the run is told that it sleeps on, after the last answer.
    const asked = [];
    for await (const event of session.events({ follow: false }))
      if (event.type === "suspended") asked.push(event.approvals.length);
    expect(asked.slice(-2)).toEqual([1, 0]);
    clock.jump(aDay);
    expect(await session.resume()).toMatchObject({ status: "completed" });
  });

  test("is refused without durable: true, and for times that are none", proven, async () => {
    for (const [options, durable, code] of [
      [{ ms: 1 }, false, "not_durable"],
      [{ ms: -1 }, true, "bad_input"],
      [{ until: "tomorrow" }, true, "bad_input"],
      [{ until: "2026-12-01T08:00" }, true, "bad_input"],
      [{ ms: 11 * 366 * aDay }, true, "bad_input"],
    ] as const) {
      const store = createMemoryStore();
      const caught: unknown[] = [];
      const agent = createDurableAgent(
        ({ sleep }) => sleep("night", options).catch((error) => void caught.push(error)),
        { durable },
        { store, clock: createTestClock() },
      );
      await agent.run("Go", { sessionId: "s" });
      expect(caught, JSON.stringify(options)).toMatchObject([{ code }]);
    }
  });
});

describe("a wait for a signal", () => {
  test(
    "counts a signal that was sent before its end, even if its time is over when it is read",
    verifies("TIME-2"),
    async () => {
      const { store, clock, start } = bench(async ({ waitFor }) =>
        JSON.stringify(await waitFor("payment", { key: "paid", timeoutMs: aDay })),
      );
      await start().run("Go", { sessionId: "s" });
      clock.jump(aDay - 1);
      await createClient({ store, clock }).signal("paid", "in time", { id: "1" });
      clock.jump(aDay);
      expect(await start().session("s").resume()).toMatchObject({ status: "completed" });
      expect(await readOutput(store)).toBe('{"type":"signalled","value":"in time","id":"1"}');
    },
  );
});

/**
 * Sleeps of tools: no process holds them, and they end when their time has come.
 */
import { describe, expect, test } from "vitest";
import { createMemoryStore } from "../../src/index.js";
import { createTestClock } from "../../src/testing/test-clock.js";
import { createDurableAgent, readEvents } from "../support/durable-tool.js";

const aDay = 86_400_000;

describe("a tool that sleeps", () => {
  test("is held by no process, and goes on in another one when its time has come", async () => {
    const store = createMemoryStore();
    const clock = createTestClock();
    const runs: number[] = [];
    const make = () =>
      createDurableAgent(
        async ({ sleep }) => {
          runs.push(clock.now());
          await sleep("until delivery", { ms: 3 * aDay });
          return "Delivered.";
        },
        {},
        { store, clock },
      );
    const first = make();
    const until = clock.now() + 3 * aDay;
    expect(await first.run("Go", { sessionId: "s" })).toMatchObject({
      status: "waiting",
      waits: [{ step: "until delivery", on: "time", until }],
    });
    expect(await store.describe("s")).toMatchObject({ holder: null, activity: "waiting" });
    await first.shutdown();
    clock.jump(3 * aDay - 1);
    expect(await store.due(clock.now(), 10)).toEqual([]);
    clock.jump(1);
    expect(await store.due(clock.now(), 10)).toEqual(["s"]);
    expect(await make().session("s").resume()).toMatchObject({ status: "completed" });
    expect(runs).toHaveLength(2);
    expect(
      (await readEvents(store)).filter(({ type }) => type === "tool_asked" || type === "timer_fired"),
    ).toMatchObject([
      { type: "tool_asked", step: "until delivery", for: "time", expiresAt: until },
      { type: "timer_fired", timer: "wait", questionId: "until delivery", at: until },
    ]);
  });
});

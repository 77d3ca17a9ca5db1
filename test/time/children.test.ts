/**
 * Child sessions that sleep: their parents sleep with them.
 */
import { describe, expect, test } from "vitest";
import { type Agent, createAgent, createClient, createMemoryStore, createWorker } from "../../src/index.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import { createTestClock } from "../../src/testing/test-clock.js";
import { createDurableAgent } from "../support/durable-tool.js";
import { verifies } from "../verifies.js";

const aDay = 86_400_000;

function bench() {
  const store = createMemoryStore();
  const clock = createTestClock();
  const start = (): Agent => {
    const child = createDurableAgent(
      async ({ sleep, waitFor }) => {
        await sleep("night", { ms: aDay });
        return (await waitFor("payment", { key: "paid" })).type;
      },
      {},
      { name: "clerk", store, clock },
    );
    const model = createScriptedModel(({ messages }) =>
      messages.some(({ role }) => role === "tool")
        ? { text: "Done." }
        : { calls: [{ name: "clerk", input: { task: "Wait." } }] },
    );
    return createAgent({ name: "boss", model, tools: [child.asTool({ description: "Works." })], store, clock });
  };
  return { store, clock, start, signal: createClient({ store, clock }).signal };
}

describe("a run whose child sleeps", () => {
  test("waits as well, and goes on when its child does", verifies("TIME-1"), async () => {
    const { store, clock, start, signal } = bench();
    const agent = start();
    const until = clock.now() + aDay;
    const waiting = { status: "waiting", waits: [{ on: "child", childId: expect.any(String), until }] };
    expect(await agent.run("Go", { sessionId: "s" })).toMatchObject(waiting);
    expect((await store.list()).map(({ holder }) => holder)).toEqual([null, null]);
    expect(await agent.session("s").resume()).toMatchObject(waiting);
    await agent.shutdown();
    clock.jump(aDay);
    const other = start();
    const resumed = await other.session("s").resume();
    expect(resumed).toMatchObject({ status: "waiting", waits: [{ on: "child" }] });
    expect(resumed.status === "waiting" && resumed.waits[0]).not.toHaveProperty("until");
    await signal("paid");
    expect(await other.session("s").resume()).toMatchObject({ status: "completed" });
    expect(await store.verify()).toEqual([]);
  });

  test("is carried on by a worker", verifies("TIME-1"), async () => {
    const { store, clock, start, signal } = bench();
    const agent = start();
    await agent.run("Go", { sessionId: "s" });
    await signal("paid");
    clock.jump(aDay);
    await createWorker({ store, agents: [agent] }).runUntilIdle();
    expect(await agent.session("s").result()).toMatchObject({ status: "completed" });
  });
});

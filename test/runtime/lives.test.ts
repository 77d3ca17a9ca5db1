/**
 * Lives of a run: who carries it on, how often, and how a process leaves it.
 */
import { describe, expect, test } from "vitest";
import { createAgent, createMemoryStore, type Store } from "../../src/index.js";
import { startAgent } from "../../src/testing/crash/agent-process.js";
import { playToEnd } from "../../src/testing/crash/play-scenario.js";
import { runToEnd } from "../../src/testing/crash/run-to-end.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import { createTestClock } from "../../src/testing/test-clock.js";
import { leaseMs } from "../../src/testing/world/processes.js";
import { createSeededRandom } from "../../src/testing/world/seeded-random.js";
import { createWorld, type World } from "../../src/testing/world/world.js";
import { createEchoTool, createGateTool } from "../support/agents.js";
import { localStores } from "../support/stores.js";
import { verifies } from "../verifies.js";

const aYear = 31_536_000_000;

/** Plays a run of two steps whose process dies at these model calls, counted through all lives. */
async function diesAtModelCalls(store: Store, dies: readonly number[], sameHost = true) {
  const world = createWorld(store, createSeededRandom(1), "s");
  const steps = [{ calls: [{ name: "echo" }] }, { text: "Done." }];
  const agent = () =>
    createAgent({
      model: createScriptedModel(({ modelCallIndex }) => steps[modelCallIndex - 1]),
      tools: [createEchoTool().tool],
    });
  const played = await playToEnd(
    world,
    {
      start() {
        const process = startAgent(world, { agent: agent(), sameHost, patienceMs: 1_000 });
        const request = { sessionId: "s", runId: "r", input: "Go", respond: () => ({ type: "approve" }) as const };
        return { process, attended: runToEnd(process, request) };
      },
      isPoint: ({ operation }) => operation === "model",
    },
    dies,
  );
  return { ...played, world };
}

function timesOf({ facts }: World, what: "killed" | "holding"): readonly number[] {
  const isMeant = (fact: World["facts"][number]) =>
    what === "holding" ? fact.type === "holding" : fact.type === "process" && fact.what === what;
  return facts.filter(isMeant).map(({ at }) => at);
}

/** Resolves when the log has the results of so many calls. */
function finishedCalls(store: Store, count: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const look = async () => {
      const log = await store.read("s");
      if (log.filter(({ event }) => event.type === "tool_finished").length < count) return;
      stop();
      resolve();
    };
    const stop = store.watch(() => void look().catch(reject));
  });
}

describe.each(localStores)("in $name, a run", ({ open }) => {
  async function inStore(work: (store: Store) => Promise<void>): Promise<void> {
    const { store, close } = await open();
    try {
      await work(store);
    } finally {
      await close();
    }
  }

  test("that takes five lives without progress is given up, and calls no model again", verifies("REC-9"), async () => {
    await inStore(async (store) => {
      const { result, points, deaths } = await diesAtModelCalls(store, [1, 2, 3, 4, 5, 6]);
      expect(result).toMatchObject({ status: "failed", reason: "crash_loop" });
      expect({ points, deaths }).toEqual({ points: 5, deaths: 5 });
    });
  });

  test("that gets on between its deaths is not", verifies("REC-9"), async () => {
    await inStore(async (store) => {
      const { result, deaths } = await diesAtModelCalls(store, [1, 2, 3, 4, 6, 7, 8, 9]);
      expect(result).toMatchObject({ status: "completed", text: "Done." });
      expect(deaths).toBe(8);
    });
  });

  test(
    "is carried on at once where its process is known to be dead, else when the lease ends",
    verifies("REC-9"),
    async () => {
      await inStore(async (store) => {
        const near = await diesAtModelCalls(store, [1], true);
        const [killed = 0] = timesOf(near.world, "killed");
        expect(timesOf(near.world, "holding")[1]).toBe(killed);
      });
      await inStore(async (store) => {
        const far = await diesAtModelCalls(store, [1], false);
        const [killed = 0] = timesOf(far.world, "killed");
        const [, taken = 0] = timesOf(far.world, "holding");
        expect(taken - killed).toBeGreaterThanOrEqual(leaseMs);
        expect(taken - killed).toBeLessThan(leaseMs * 2);
      });
    },
  );

  test.each([
    ["a year ahead", aYear],
    ["a year back", -aYear],
    ["by the hours that a laptop slept", 8 * 3_600_000],
  ])("goes on where the clock was set %s while a tool ran", verifies("REC-9"), async (_, ms) => {
    await inStore(async (store) => {
      const clock = createTestClock(2 * aYear);
      const gate = createGateTool();
      const model = createScriptedModel([{ calls: [{ name: "gate" }] }, { text: "Done." }]);
      const result = createAgent({ model, tools: [gate.tool], store, clock }).run("Go", { sessionId: "s" });
      await gate.started;
      clock.jump(ms);
      gate.open("opened");
      expect(await result).toMatchObject({ status: "completed", text: "Done." });
      expect(gate.runs()).toBe(1);
    });
  });

  test.each([
    ["a year ahead", aYear],
    ["a year back", -aYear],
  ])(
    "of a process on another host that is gone can be taken up where the clock was set %s",
    verifies("REC-9"),
    async (_, ms) => {
      await inStore(async (store) => {
        const clock = createTestClock(2 * aYear);
        const holder = { id: "gone", host: "elsewhere", pid: 1, startedAt: 0 };
        await store.claim("s", { holder, now: clock.now(), leaseMs: 15_000 });
        clock.jump(ms);
        const agent = createAgent({ model: createScriptedModel([{ text: "Done." }]), store, clock });
        expect(await agent.run("Go", { sessionId: "s" })).toMatchObject({ status: "completed" });
      });
    },
  );

  test(
    "that is left by a shutdown: what settles in time is kept, the rest is interrupted and due, the lease is given back",
    verifies("REC-10"),
    async () => {
      await inStore(async (store) => {
        const clock = createTestClock();
        const quick = createGateTool("quick", { heedsSignal: false });
        const stuck = createGateTool("stuck", { heedsSignal: false });
        const next = createEchoTool("next");
        const model = createScriptedModel([{ calls: [{ name: "quick" }, { name: "stuck" }, { name: "next" }] }]);
        const tools = [quick.tool, stuck.tool, next.tool];
        const agent = createAgent({ model, tools, store, clock, limits: { toolConcurrency: 2 } });
        const result = agent.run("Go", { sessionId: "s" });
        await Promise.all([quick.started, stuck.started]);
        const down = agent.shutdown({ graceMs: 2_000 });
        const whenKept = finishedCalls(store, 2);
        quick.open("in time");
        await whenKept;
        await clock.advance(2_000);
        await down;
        expect(await result).toMatchObject({ status: "interrupted", reason: "shutdown", resumable: true });
        // The slot that came free was given to the next call, which is not left in doubt.
        expect(next.inputs).toHaveLength(1);
        expect(await store.list()).toMatchObject([{ sessionId: "s", activity: "active", holder: null }]);
        expect(await store.due(clock.now(), 10)).toEqual(["s"]);
        const finished = (await store.read("s")).flatMap(({ event }) =>
          event.type === "tool_finished" ? [event] : [],
        );
        expect(finished).toMatchObject([
          { callKey: expect.stringMatching(/1$/), outcome: "ok", output: { type: "text", text: "in time" } },
          { callKey: expect.stringMatching(/3$/), outcome: "ok" },
        ]);

        const heir = createAgent({ model: createScriptedModel([{ text: "On." }]), tools, store, clock });
        expect(await heir.session("s").resume()).toMatchObject({ status: "completed", text: "On." });
        const outcomes = (await store.read("s")).flatMap(({ event }) =>
          event.type === "tool_finished" ? [`${event.callKey.at(-1)} ${event.outcome}`] : [],
        );
        expect(outcomes.sort()).toEqual(["1 ok", "2 interrupted", "3 ok"]);
        expect(next.inputs).toHaveLength(1);
      });
    },
  );
});

test("a shutdown with nothing under way ends at once", verifies("REC-10"), async () => {
  const agent = createAgent({ model: createScriptedModel([{ text: "Hi." }]), store: createMemoryStore() });
  await agent.run("Go");
  await agent.shutdown();
  await expect(agent.run("Again")).rejects.toMatchObject({ code: "shut_down" });
});

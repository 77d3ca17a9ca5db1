/**
 * A request that takes the place of the run under way: abort and next run in one message, taken once.
 */
import { describe, expect, test } from "vitest";
import { createAgent, createClient, createMemoryStore, type Store } from "../../src/index.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import { collect, createEchoTool, createGateTool, filterEventsOfType } from "../support/agents.js";
import { createFailingStore, localStores, withStore } from "../support/stores.js";

/** An agent whose first run waits in a tool; every other run just answers. */
function setUp(store: Store) {
  const gate = createGateTool();
  const create = () =>
    createAgent({
      model: createScriptedModel(({ runId, modelCallIndex }) =>
        runId === "first" && modelCallIndex === 1 ? { calls: [{ name: "gate" }] } : { text: `Done with ${runId}.` },
      ),
      tools: [gate.tool],
      store,
      limits: { abortGraceMs: 1_000 },
    });
  const agent = create();
  return { agent, create, gate, session: agent.session("s") };
}

async function runsOf(session: ReturnType<ReturnType<typeof createAgent>["session"]>) {
  const events = await collect(session.events({ follow: false }));
  return filterEventsOfType(events, "final").map(({ runId, result }) => [runId, result.status]);
}

describe.each(localStores)("on $name", ({ open }) => {
  test("aborts the run under way and is the next run, before those that were queued", async () => {
    await withStore(open, async (store) => {
      const { agent, gate, session } = setUp(store);
      const first = agent.run("Begin", { sessionId: "s", runId: "first" });
      await gate.started;
      await session.send("Later", { runId: "later" });
      const instead = agent.run("Wait", { sessionId: "s", runId: "last" });
      expect(await session.send("Do this", { runId: "instead", mode: "interrupt", by: "ada" })).toEqual({
        runId: "instead",
        isNew: true,
      });
      expect(await first).toMatchObject({ status: "aborted" });
      expect(await instead).toMatchObject({ status: "completed" });
      expect(await runsOf(session)).toEqual([
        ["first", "aborted"],
        ["instead", "completed"],
        ["later", "completed"],
        ["last", "completed"],
      ]);
      const events = await collect(session.events({ follow: false }));
      expect(filterEventsOfType(events, "abort_requested")).toMatchObject([
        { runId: "first", by: "ada", note: "replaced by another request" },
      ]);
      expect(filterEventsOfType(events, "run_queued").filter(({ interrupts }) => interrupts)).toMatchObject([
        { runId: "instead" },
      ]);
    });
  });

  test("is one message: sent again under its id, it aborts nothing more", async () => {
    await withStore(open, async (store) => {
      const { agent, gate, session } = setUp(store);
      const first = agent.run("Begin", { sessionId: "s", runId: "first" });
      await gate.started;
      await session.send("Do this", { runId: "instead", mode: "interrupt" });
      await first;
      const again = await session.send("Do this", { runId: "instead", mode: "interrupt" });
      expect(again).toEqual({ runId: "instead", isNew: false });
      await session.resume().catch(() => undefined);
      expect(await runsOf(session)).toEqual([
        ["first", "aborted"],
        ["instead", "completed"],
      ]);
    });
  });

  test("at any commit that fails, the next process aborts once and starts the next run once", async () => {
    for (let failing = 1; failing < 8; failing += 1)
      await withStore(open, async (inner) => {
        const { store, failCommits, repair } = createFailingStore(inner);
        const { agent, create, gate } = setUp(store);
        const first = agent.run("Begin", { sessionId: "s", runId: "first" });
        await gate.started;
        failCommits(failing);
        await createClient({ store }).session("s").send("Do this", { runId: "instead", mode: "interrupt" });
        await agent
          .session("s")
          .resume()
          .catch(() => undefined);
        await first;
        gate.open("late");
        repair();
        const session = create().session("s");
        for (let left = 4; left > 0; left -= 1) await session.resume().catch(() => undefined);
        expect(await runsOf(session)).toEqual([
          ["first", "aborted"],
          ["instead", "completed"],
        ]);
        expect(await store.verify()).toEqual([]);
      });
  });
});

test("a client without the agent interrupts, and a run that waits for a person is aborted at once", async () => {
  const store = createMemoryStore();
  const { tool, inputs } = createEchoTool();
  const agent = createAgent({
    model: createScriptedModel(({ runId, modelCallIndex }) =>
      runId === "first" && modelCallIndex === 1 ? { calls: [{ name: "echo" }] } : { text: "Done." },
    ),
    tools: [tool],
    canExecuteTool: () => "ask",
    store,
  });
  expect(await agent.run("Begin", { sessionId: "s", runId: "first" })).toMatchObject({ status: "awaiting_human" });
  await createClient({ store }).session("s").send("Do this", { runId: "instead", mode: "interrupt" });
  await agent.session("s").resume();
  await agent
    .session("s")
    .resume()
    .catch(() => undefined);
  expect(await runsOf(agent.session("s"))).toEqual([
    ["first", "aborted"],
    ["instead", "completed"],
  ]);
  expect(inputs).toEqual([]);
});

test("the last of several interruptions counts", async () => {
  const { agent, gate, session } = setUp(createMemoryStore());
  const first = agent.run("Begin", { sessionId: "s", runId: "first" });
  await gate.started;
  await Promise.all([
    session.send("Do this", { runId: "second", mode: "interrupt" }),
    session.send("No, this", { runId: "third", mode: "interrupt" }),
  ]);
  await first;
  await session.resume().catch(() => undefined);
  const runs = await runsOf(session);
  expect(runs.at(0)).toEqual(["first", "aborted"]);
  expect(runs.at(-1)).toEqual(["third", "completed"]);
  expect(runs).not.toContainEqual(["second", "completed"]);
});

test("at rest, the input begins a run as any other does", async () => {
  const { session } = setUp(createMemoryStore());
  await session.send("Do this", { runId: "only", mode: "interrupt" });
  await session.resume().catch(() => undefined);
  expect(await runsOf(session)).toEqual([["only", "completed"]]);
});

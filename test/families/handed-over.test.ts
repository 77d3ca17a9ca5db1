/** A session that was handed over, and then waits for a child of the agent that took over. */
import { expect, test } from "vitest";
import { createAgent, createMemoryStore, createWorker, defineTool, type Store } from "../../src/index.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import { createDeferred } from "../support/agents.js";
import { verifies } from "../verifies.js";
import { waitUntil } from "./tree.js";

/** Front hands over to boss, and boss has work done by a child. */
function desk(store: Store, work: () => Promise<string> | string) {
  const tool = defineTool({
    name: "work",
    description: "Works.",
    input: { type: "object" },
    recover: "rerun",
    execute: work,
  });
  const leaf = createAgent({
    name: "leaf",
    model: createScriptedModel(({ modelCallIndex }) =>
      modelCallIndex === 1 ? { calls: [{ name: "work" }] } : { text: "Worked." },
    ),
    tools: [tool],
  });
  const boss = createAgent({
    name: "boss",
    model: createScriptedModel(({ modelCallIndex }) =>
      modelCallIndex === 2 ? { calls: [{ name: "leaf", input: { task: "Work." } }] } : { text: "Done." },
    ),
    tools: [leaf.asTool({ description: "Works." })],
    store,
  });
  const front = createAgent({
    name: "front",
    model: createScriptedModel([{ calls: [{ name: "transfer_to_boss" }] }]),
    handoffs: [{ name: "boss", description: "Has work done.", agent: () => boss }],
    store,
  });
  return { front, boss };
}

test.for(["front", "boss", "a worker with front"] as const)(
  "after all processes died, %s carries both sessions on",
  verifies("AGENT-1", "AGENT-2"),
  async (who) => {
    const store = createMemoryStore();
    const reached = createDeferred();
    const first = desk(store, () => {
      reached.resolve();
      return new Promise(() => {});
    });
    const run = first.front.run("Go.", { sessionId: "p" });
    await reached.promise;
    await first.front.shutdown({ graceMs: 0 });
    expect(await run).toMatchObject({ status: "interrupted" });
    await waitUntil(async () => (await store.list()).every(({ holder }) => holder === null));
    const { front, boss } = desk(store, () => "worked");
    if (who === "a worker with front") await createWorker({ store, agents: [front] }).runUntilIdle();
    else await { front, boss }[who].session("p").resume();
    expect(await front.session("p").result()).toMatchObject({ status: "completed", text: "Done." });
    expect((await store.list()).map(({ status }) => status)).toEqual(["completed", "completed"]);
  },
);

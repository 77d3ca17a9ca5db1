/**
 * A message whose commit a shutdown overtakes: the sender is told what became of it, so that nobody sends it twice.
 */
import { expect, test } from "vitest";
import { createAgent, createMemoryStore, type Store } from "../../src/index.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import { createGateTool } from "../support/agents.js";
import { holdCommits } from "../support/held-commit.js";
import { verifies } from "../verifies.js";

/** What becomes of the commit: its answer comes when the process has given up its lease, or is lost. */
const fates = ["comes late", "is lost"] as const;

/** A store that holds the answer to the commit of a steer back until the lease was given up. */
function slowToAnswer(inner: Store, fate: (typeof fates)[number]) {
  const held = holdCommits(inner, "steered");
  const store: Store = {
    ...held.store,
    async release(lease) {
      const result = await inner.release(lease);
      if (fate === "is lost") held.lose(new Error("The connection was closed."));
      else held.answer();
      return result;
    },
  };
  return { store, written: held.written };
}

test.each(fates)(
  "a steer is told as sent if its commit took effect and the answer %s",
  verifies("LOOP-8"),
  async (fate) => {
    const inner = createMemoryStore();
    const { store, written } = slowToAnswer(inner, fate);
    const gate = createGateTool("wait", { heedsSignal: true });
    const model = createScriptedModel([{ calls: [{ name: "wait" }] }, { text: "Done." }]);
    const agent = createAgent({ model, store, tools: [gate.tool] });
    const run = agent.run("Go", { sessionId: "s" });
    await gate.started;
    const steering = agent.session("s").steer("More.");
    await written;
    const ended = agent.shutdown({ graceMs: 0 });
    await expect(steering).resolves.toBeUndefined();
    await ended;
    expect(await run).toMatchObject({ status: "interrupted" });
    const steers = (await inner.read("s")).filter(({ event }) => event.type === "steered");
    expect(steers).toHaveLength(1);
    expect(await inner.inbox("s")).toEqual([]);
  },
);

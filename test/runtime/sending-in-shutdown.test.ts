/**
 * A message whose commit a shutdown overtakes: the sender is told what became of it, so that nobody sends it twice.
 */
import { expect, test } from "vitest";
import { createAgent, createMemoryStore, type Store } from "../../src/index.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import { createDeferred, createGateTool } from "../support/agents.js";
import { verifies } from "../verifies.js";

/** What becomes of the commit: its answer comes when the process has given up its lease, or is lost. */
const fates = ["comes late", "is lost"] as const;

/** A store that holds the answer to the commit of a steer back until the lease was given up. */
function slowToAnswer(inner: Store, fate: (typeof fates)[number]) {
  const [written, released] = [createDeferred<void>(), createDeferred<void>()];
  const store: Store = {
    ...inner,
    async commit(lease, commit) {
      const result = await inner.commit(lease, commit);
      if (!commit.events.some(({ type }) => type === "steered")) return result;
      written.resolve();
      await released.promise;
      if (fate === "is lost") throw new Error("The connection was closed.");
      return result;
    },
    async release(lease) {
      const result = await inner.release(lease);
      released.resolve();
      return result;
    },
  };
  return { store, written: written.promise };
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

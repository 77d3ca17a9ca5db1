/**
 * A store on another machine, whose answers cross: what was read of the inbox arrives after the answer of a later commit.
 */
import { describe, expect, test } from "vitest";
import { createAgent, createClient, createMemoryStore, type Store } from "../../src/index.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import { createTestClock, settled } from "../../src/testing/test-clock.js";
import { createDeferred, createGateTool } from "../support/agents.js";
import { verifies } from "../verifies.js";

/** A commit that takes messages waits for `commit` before it is done. What was read of the inbox waits for `inbox` on its way back. */
function createDistantStore() {
  const inner = createMemoryStore();
  const ways = { commit: Promise.resolve(), inbox: Promise.resolve() };
  const store: Store = {
    ...inner,
    async commit(lease, commit) {
      if ((commit.consume ?? []).length > 0) await ways.commit;
      return await inner.commit(lease, commit);
    },
    async inbox(sessionId) {
      const messages = await inner.inbox(sessionId);
      await ways.inbox;
      return messages;
    },
  };
  return { store, ways };
}

describe("a look at the inbox that is answered after the commit which took its messages", () => {
  test("takes them no second time", verifies("LOOP-8"), async () => {
    const { store, ways } = createDistantStore();
    const clock = createTestClock();
    const gate = createGateTool();
    const agent = createAgent({
      model: createScriptedModel([{ calls: [{ name: "gate" }] }, { text: "Minded." }]),
      tools: [gate.tool],
      store,
      clock,
    });
    const run = agent.run("Go", { sessionId: "s" });
    await gate.started;
    const elsewhere = createClient({ store }).session("s");
    const [committed, looked] = [createDeferred(), createDeferred()];

    ways.commit = committed.promise;
    await elsewhere.steer("Mind the gap.");
    await clock.advance(1_000);
    ways.inbox = looked.promise;
    await elsewhere.steer("And the step.");
    await clock.advance(1_000);
    committed.resolve();
    await settled();
    looked.resolve();
    await settled();
    gate.open("open");

    expect(await run).toMatchObject({ status: "completed", text: "Minded." });
    const said = (await store.read("s")).flatMap(({ event }) => (event.type === "steered" ? event.input : []));
    expect(said.map(({ parts }) => parts)).toEqual([
      [{ type: "text", text: "Mind the gap." }],
      [{ type: "text", text: "And the step." }],
    ]);
  });
});

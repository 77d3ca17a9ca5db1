/**
 * A message that is in the store, or may be, and a store that gives out then: the sender is never told as if nothing had happened.
 */
import { describe, expect, test } from "vitest";
import { createAgent, createMemoryStore, PawlError, type Store } from "../../src/index.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import { createGateTool } from "../support/agents.js";
import { verifies } from "../verifies.js";

const closed = () => new PawlError("store_closed", "This store is closed.");

async function timesSteered(store: Store): Promise<number> {
  const entries = await store.read("s", 0);
  return entries.filter(({ event }) => event.type === "steered").length;
}

describe("a store that closes while a message is sent", () => {
  test("after it has kept the message: the error says so", verifies("LOOP-8"), async () => {
    const inner = createMemoryStore();
    const gate = createGateTool();
    const holder = createAgent({
      model: createScriptedModel([{ calls: [{ name: "gate" }] }, { text: "Done." }, { text: "Minded." }]),
      tools: [gate.tool],
      store: inner,
    });
    const run = holder.run("Go", { sessionId: "s" });
    await gate.started;
    let isClosed = false;
    const store: Store = {
      ...inner,
      async post(sessionId, message) {
        const posted = await inner.post(sessionId, message);
        isClosed = true;
        return posted;
      },
      async claim(sessionId, options) {
        if (isClosed) throw closed();
        return inner.claim(sessionId, options);
      },
    };
    const other = createAgent({ model: createScriptedModel([]), tools: [gate.tool], store });
    const steered = other.session("s").steer("Mind the gap.");
    await expect(steered).rejects.toMatchObject({
      code: "store_failed",
      message: expect.stringContaining("the store has the message to session s. Do not send it again"),
    });
    gate.open("opened");
    expect(await run).toMatchObject({ status: "completed" });
    expect(await timesSteered(inner)).toBe(1);
  });

  test("after a commit that lost its answer: the error says that it may be there", verifies("LOOP-8"), async () => {
    const inner = createMemoryStore();
    const gate = createGateTool();
    let isClosed = false;
    const store: Store = {
      ...inner,
      async commit(lease, commit) {
        const result = await inner.commit(lease, commit);
        if (!commit.events.some(({ type }) => type === "steered")) return result;
        isClosed = true;
        return { type: "fenced" };
      },
      async post(sessionId, message) {
        if (isClosed) throw closed();
        return inner.post(sessionId, message);
      },
    };
    const agent = createAgent({
      model: createScriptedModel([{ calls: [{ name: "gate" }] }]),
      tools: [gate.tool],
      store,
    });
    const run = agent.run("Go", { sessionId: "s" });
    await gate.started;
    await expect(agent.session("s").steer("Mind the gap.")).rejects.toMatchObject({
      code: "store_failed",
      message: expect.stringContaining("it may or may not have the message to session s. Check the session"),
    });
    expect(await run).toMatchObject({ status: "interrupted" });
    expect(await timesSteered(inner)).toBe(1);
  });

  test("before anything was kept: the error is the store's own", verifies("LOOP-8"), async () => {
    const inner = createMemoryStore();
    await createAgent({ model: createScriptedModel([{ text: "Done." }]), store: inner }).run("Go", { sessionId: "s" });
    const store: Store = {
      ...inner,
      async claim() {
        throw closed();
      },
    };
    const agent = createAgent({ model: createScriptedModel([]), store });
    await expect(agent.session("s").steer("Mind the gap.")).rejects.toMatchObject({ code: "store_closed" });
    expect(await inner.inbox("s")).toEqual([]);
  });
});

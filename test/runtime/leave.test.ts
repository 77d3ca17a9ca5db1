/**
 * A session that this process leaves to others.
 */
import { describe, expect, test } from "vitest";
import { createAgent, createMemoryStore, type RunResult, type Store } from "../../src/index.js";
import { createScriptedModel, createTestClock } from "../../src/testing/index.js";
import { createGateTool } from "../support/agents.js";
import { verifies } from "../verifies.js";

const ids = { sessionId: "s", runId: "r" };
const left = { status: "interrupted", reason: "left", resumable: true, ...ids };
const gated = () => createScriptedModel([{ calls: [{ name: "gate", input: {} }] }, { text: "Done." }]);

async function holderOf(store: Store, sessionId = "s") {
  return (await store.describe(sessionId))?.holder;
}

describe("session.leave()", verifies("DIST-3"), () => {
  test("waits for a running call, gives the lease back, and starts nothing more", async () => {
    const store = createMemoryStore();
    const gate = createGateTool();
    const model = gated();
    const agent = createAgent({ model, tools: [gate.tool], store });
    const run = agent.run("Go", ids);
    await gate.started;
    const leaving = agent.session("s").leave();
    gate.open("opened");
    await leaving;
    expect(await run).toMatchObject(left);
    expect(await holderOf(store)).toBeNull();
    expect(model.requests).toHaveLength(1);
    const other = createAgent({
      model: createScriptedModel([{ text: "Ended elsewhere." }]),
      tools: [gate.tool],
      store,
    });
    expect(await other.session("s").resume()).toMatchObject({ status: "completed", text: "Ended elsewhere." });
    expect(await agent.session("s").resume()).toMatchObject({ status: "completed", text: "Ended elsewhere." });
  });

  test("cuts off a call that goes on for longer than the grace", async () => {
    const store = createMemoryStore();
    const gate = createGateTool("gate", { heedsSignal: false });
    const agent = createAgent({ model: gated(), tools: [{ ...gate.tool, recover: "rerun" }], store });
    const run = agent.run("Go", ids);
    await gate.started;
    await agent.session("s").leave({ graceMs: 0 });
    expect(await run).toMatchObject(left);
    expect(await holderOf(store)).toBeNull();
    gate.open("opened");
    expect(await agent.session("s").resume()).toMatchObject({ status: "completed", text: "Done." });
  });

  test("leaves child sessions, too, and ends the wait for a parent that is not driven", async () => {
    const store = createMemoryStore();
    const gate = createGateTool("gate", { heedsSignal: false });
    const helper = createAgent({ name: "helper", model: gated(), tools: [{ ...gate.tool, recover: "rerun" }] });
    const agent = createAgent({
      model: createScriptedModel([{ calls: [{ name: "helper", input: { task: "Help." } }] }, { text: "Helped." }]),
      tools: [helper.asTool({ description: "Helps." })],
      store,
    });
    const run = agent.run("Go", ids);
    await gate.started;
    await agent.session("s").leave({ graceMs: 0 });
    expect(await run).toMatchObject({ status: "interrupted", reason: "left" });
    const [child] = await store.list({ parent: "s" });
    expect(child).toMatchObject({ holder: null, status: "tool_running" });
    expect(await holderOf(store)).toBeNull();
    gate.open("opened");
    expect(await agent.session("s").resume()).toMatchObject({ status: "completed", text: "Helped." });
  });

  test("keeps subscribers, who follow the session on", async () => {
    const store = createMemoryStore();
    const gate = createGateTool();
    const agent = createAgent({ model: gated(), tools: [gate.tool], store });
    const run = agent.run("Go", ids);
    await gate.started;
    const types: string[] = [];
    const watching = (async () => {
      for await (const item of agent.session("s").events({ until: "run", live: false })) types.push(item.type);
    })();
    const leaving = agent.session("s").leave();
    gate.open("opened");
    await leaving;
    expect(await run).toMatchObject(left);
    await createAgent({ model: createScriptedModel([{ text: "Done." }]), tools: [gate.tool], store })
      .session("s")
      .resume();
    await watching;
    expect(types.at(-1)).toBe("final");
  });

  test("does nothing to a session that is not in this process, or not at all", async () => {
    const store = createMemoryStore();
    const clock = createTestClock();
    const agent = createAgent({ model: createScriptedModel([]), store, clock });
    await agent.session("s").leave();
    expect(await store.list()).toEqual([]);
    const gate = createGateTool();
    const other = createAgent({ model: gated(), tools: [gate.tool], store });
    const run: Promise<RunResult> = other.run("Go", ids);
    await gate.started;
    await agent.session("s").leave();
    gate.open("opened");
    expect(await run).toMatchObject({ status: "completed" });
  });
});

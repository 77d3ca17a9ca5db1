import { describe, expect, test } from "vitest";
import { createAgent, createMemoryStore, createWorker, defineTool, PawlError, type Store } from "../../src/index.js";
import { createScriptedModel, type ScriptedStep } from "../../src/testing/scripted-model.js";
import { verifies } from "../verifies.js";

const delegate = (task: string): ScriptedStep => ({ calls: [{ name: "researcher", input: { task } }] });

type Family = {
  readonly store?: Store;
  readonly parent: readonly ScriptedStep[];
  readonly child: readonly ScriptedStep[];
  readonly found?: () => string | Promise<string>;
  readonly ask?: boolean;
  readonly limits?: { readonly maxTokens: number };
};

function family({ store = createMemoryStore(), parent, child, found = () => "found", ask = false, limits }: Family) {
  const look = defineTool({
    name: "look",
    description: "Looks something up.",
    input: { type: "object" },
    needsApproval: ask,
    recover: "rerun",
    execute: found,
  });
  const childModel = createScriptedModel(child);
  const researcher = createAgent({ name: "researcher", model: childModel, tools: [look] });
  const parentModel = createScriptedModel(parent);
  const agent = createAgent({
    name: "editor",
    model: parentModel,
    tools: [researcher.asTool({ description: "Researches a question." })],
    store,
    ...(limits === undefined ? {} : { limits }),
  });
  return { agent, store, childModel, parentModel };
}

describe("an agent as a tool", verifies("TOOL-11"), () => {
  test("runs in a session of its own, and its answer is the call's result", async () => {
    const { agent, store, parentModel, childModel } = family({
      parent: [delegate("What is a pawl?"), { text: "It is a catch." }],
      child: [{ calls: [{ name: "look" }] }, { text: "A catch." }],
    });
    const result = await agent.run("Explain.", { sessionId: "p" });
    expect(result).toMatchObject({ status: "completed", text: "It is a catch." });
    expect(result.usage).toEqual({ inputTokens: 40, outputTokens: 20 });
    expect(parentModel.requests[1]?.messages.at(-1)).toMatchObject({ parts: [{ output: { text: "A catch." } }] });
    expect(childModel.requests[0]?.messages).toEqual([
      { role: "user", parts: [{ type: "text", text: "What is a pawl?" }] },
    ]);
    const sessions = await store.list();
    const child = sessions.find((one) => one.sessionId !== "p");
    expect(child?.info).toMatchObject({ agent: "researcher", parent: { sessionId: "p" }, top: "p" });
    expect(sessions.map((one) => one.holder)).toEqual([null, null]);
  });

  test("two children run side by side", async () => {
    let open = 0;
    let most = 0;
    let release = () => {};
    const both = new Promise<void>((resolve) => {
      release = resolve;
    });
    const { agent } = family({
      parent: [{ calls: [1, 2].map((n) => ({ name: "researcher", input: { task: `${n}` } })) }, { text: "Both." }],
      child: [{ calls: [{ name: "look" }] }, { calls: [{ name: "look" }] }, { text: "A" }, { text: "B" }],
      found: async () => {
        open += 1;
        most = Math.max(most, open);
        if (open === 2) release();
        await both;
        return "x";
      },
    });
    expect(await agent.run("Go.")).toMatchObject({ status: "completed", text: "Both." });
    expect(most).toBe(2);
  });

  test("a child that fails is an error result, and the parent goes on", async () => {
    const { agent, parentModel } = family({ parent: [delegate("x"), { text: "Never mind." }], child: [] });
    expect(await agent.run("Go.")).toMatchObject({ status: "completed" });
    const last = parentModel.requests[1]?.messages.at(-1);
    expect(last).toMatchObject({ parts: [{ isError: true }] });
    expect(JSON.stringify(last)).toContain("did not finish (failed, model_error)");
  });

  test("its approvals show at the top, and are answered there", async () => {
    const { agent, store } = family({
      parent: [delegate("x"), { text: "Done." }],
      child: [{ calls: [{ name: "look", input: { q: 1 } }] }, { text: "Looked." }],
      ask: true,
    });
    const waiting = await agent.run("Go.", { sessionId: "p" });
    if (waiting.status !== "awaiting_human") throw new Error(waiting.status);
    expect(waiting.approvals).toMatchObject([{ name: "look", input: { q: 1 }, why: "policy" }]);
    expect((await store.list()).map((one) => one.holder)).toEqual([null, null]);
    const [approval] = await agent.session("p").pendingApprovals();
    expect(await agent.session("p").answer(approval?.callKey ?? "", { type: "approve" })).toBe("first");
    expect(await resultOf(agent, "p")).toMatchObject({ status: "completed", text: "Done." });
  });

  test("an abort reaches it", async () => {
    let started = () => {};
    const running = new Promise<void>((resolve) => {
      started = resolve;
    });
    const { agent, store } = family({
      parent: [delegate("x")],
      child: [{ calls: [{ name: "look" }] }],
      found: () => {
        started();
        return new Promise(() => {});
      },
      limits: { maxTokens: 1_000_000 },
    });
    const controller = new AbortController();
    const result = agent.run("Go.", { sessionId: "p", signal: controller.signal, limits: { abortGraceMs: 200 } });
    await running;
    controller.abort();
    expect(await result).toMatchObject({ status: "aborted" });
    const child = (await store.list()).find((one) => one.sessionId !== "p");
    expect(["aborted", "tool_running"]).toContain(child?.status);
  });

  test("gets a share of what is left of the budget", async () => {
    const { agent, store } = family({
      parent: [{ ...delegate("x"), usage: { inputTokens: 100, outputTokens: 100 } }, { text: "Done." }],
      child: [{ text: "Cheap." }],
      limits: { maxTokens: 1_000 },
    });
    await agent.run("Go.", { sessionId: "p" });
    const child = (await store.list()).find((one) => one.sessionId !== "p");
    const state = (await store.load(child?.sessionId ?? ""))?.state;
    expect(state).toMatchObject({ limits: { maxTokens: 400 } });
  });

  test("parent and child are carried on by others, whichever died", async () => {
    const store = createMemoryStore();
    const first = family({
      store,
      parent: [delegate("x")],
      child: [{ calls: [{ name: "look" }] }],
      found: () => {
        void first.agent.shutdown({ graceMs: 0 });
        return new Promise(() => {});
      },
    });
    void first.agent.run("Go.", { sessionId: "p" });
    await until(
      async () => (await store.list()).length === 2 && (await store.list()).every((one) => one.holder === null),
    );

    const second = family({ store, parent: [{ text: "Done." }], child: [{ text: "Looked." }] });
    expect(await second.agent.session("p").resume()).toMatchObject({ status: "completed", text: "Done." });
  });

  test("a worker that has only the parent's agent carries both on", async () => {
    const store = createMemoryStore();
    const { agent } = family({ store, parent: [delegate("x"), { text: "Done." }], child: [{ text: "Looked." }] });
    const { agent: other } = family({
      store,
      parent: [delegate("x"), { text: "Done." }],
      child: [{ text: "Looked." }],
    });
    await agent.session("p").send("Go.");
    await agent.shutdown({ graceMs: 0 });
    await createWorker({ store, agents: [other] }).runUntilIdle();
    expect(await resultOf(other, "p")).toMatchObject({ status: "completed", text: "Done." });
  });

  test("an agent without a name cannot be one", () => {
    const agent = createAgent({ model: createScriptedModel([]) });
    expect(() => agent.asTool({ description: "x" })).toThrow(PawlError);
  });
});

async function resultOf(agent: ReturnType<typeof createAgent>, sessionId: string) {
  for await (const item of agent.session(sessionId).events()) if (item.type === "final") return item.result;
  throw new Error("no end");
}

async function until(holds: () => Promise<boolean>, turns = 2_000) {
  for (let turn = 0; !(await holds()); turn += 1) {
    if (turn === turns) throw new Error("It did not come to that.");
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/**
 * A client speaks to the sessions of a store, and carries none on.
 */
import { describe, expect, test } from "vitest";
import {
  createAgent,
  createClient,
  createMemoryStore,
  createWorker,
  defineTool,
  pendingApprovals,
  type Store,
} from "../../src/index.js";
import { createScriptedModel, type ScriptedStep } from "../../src/testing/scripted-model.js";
import { createTestClock } from "../../src/testing/test-clock.js";
import { collect, createGateTool } from "../support/agents.js";
import { verifies } from "../verifies.js";

function createPayer(store: Store, answers: readonly ScriptedStep[], name = "payer", clock = createTestClock()) {
  const paid: unknown[] = [];
  const pay = defineTool({
    name: "pay",
    description: "Pays.",
    input: { type: "object" },
    needsApproval: true,
    execute: (input) => {
      paid.push(input);
      return "paid";
    },
  });
  const agent = createAgent({ name, model: createScriptedModel(answers), tools: [pay], store, clock });
  return { agent, paid, clock };
}

const asks = (...amounts: readonly number[]) => ({
  calls: amounts.map((amount) => ({ name: "pay", input: { amount } })),
});

describe("what waits", () => {
  test("of a child is its own, and says whose child it is", verifies("TOOL-11"), async () => {
    const store = createMemoryStore();
    const { agent: child, paid } = createPayer(store, [asks(7), { text: "The child is done." }]);
    const parentOf = () =>
      createAgent({
        name: "parent",
        model: createScriptedModel([{ calls: [{ name: "payer", input: { task: "Pay 7." } }] }, { text: "Done." }]),
        tools: [child.asTool({ description: "Pays." })],
        store,
      });
    const parent = parentOf();
    const waiting = await parent.run("Pay.", { sessionId: "top" });
    expect(waiting.status).toBe("awaiting_human");
    const client = createClient({ store });
    const [inner] = await collect(pendingApprovals(store));
    expect(inner).toMatchObject({
      name: "pay",
      input: { amount: 7 },
      session: { agent: "payer", top: "top", parent: { sessionId: "top" } },
    });
    const { sessionId = "", callKey = "" } = inner ?? {};
    expect(await client.session(sessionId).answer(callKey, { type: "approve" }, { by: "ada" })).toBe("first");
    expect(await parent.session("top").resume()).toMatchObject({ status: "completed", text: "Done." });
    expect(paid).toEqual([{ amount: 7 }]);
  });
});

describe("an answer of a client", () => {
  test("runs nothing until somebody carries the session on", verifies("HITL-2"), async () => {
    const store = createMemoryStore();
    const { agent, paid } = createPayer(store, [asks(1), { text: "Paid." }]);
    await agent.run("Pay.", { sessionId: "s" });
    const client = createClient({ store });
    const [open] = await collect(pendingApprovals(store));
    const { callKey = "" } = open ?? {};
    expect(await client.session("s").answer(callKey, { type: "approve" }, { by: "ada" })).toBe("first");
    expect(paid).toEqual([]);
    await createWorker({ store, agents: [agent] }).runUntilIdle();
    expect(paid).toEqual([{ amount: 1 }]);
    expect(await agent.session("s").result()).toMatchObject({ text: "Paid." });
  });

  test("that comes second is told so, and whose the first was", verifies("HITL-4", "SEC-6#bound"), async () => {
    const store = createMemoryStore();
    const { agent, paid, clock } = createPayer(store, [asks(1), { text: "Not paid." }]);
    await agent.run("Pay.", { sessionId: "s" });
    const client = createClient({ store, clock });
    const [open] = await collect(pendingApprovals(store));
    const { callKey = "" } = open ?? {};
    const session = client.session("s");
    expect(await session.answerTo(callKey)).toBeNull();
    await clock.advance(5_000);
    expect(await session.answer(callKey, { type: "deny", note: "too much" }, { by: "ada" })).toBe("first");
    const first = { type: "deny", at: clock.now(), by: "ada", note: "too much" };
    expect(await session.answer(callKey, { type: "approve" }, { by: "bob" })).toBe("second");
    expect(await session.answerTo(callKey)).toEqual(first);
    await agent.session("s").resume();
    expect(await session.answer(callKey, { type: "approve" }, { by: "bob" })).toBe("second");
    expect(await session.answerTo(callKey)).toEqual(first);
    expect(paid).toEqual([]);
  });

  test.for(["request", "call"] as const)(
    "is found by its %s, also if a driver takes it from the inbox during the search",
    async (by) => {
      const store = createMemoryStore();
      const { agent } = createPayer(store, [asks(1), { text: "Paid." }]);
      await agent.run("Pay.", { sessionId: "s" });
      let reads = 0;
      const countRead = async <Result>(read: Promise<Result>): Promise<Result> => {
        const result = await read;
        reads += 1;
        // Between the two reads of the search.
        if (reads === 1) await agent.session("s").resume();
        return result;
      };
      const watched: Store = {
        ...store,
        read: (...args) => countRead(store.read(...args)),
        inbox: (...args) => countRead(store.inbox(...args)),
      };
      const [open] = await collect(pendingApprovals(store));
      const answer = { requestId: "m-1" };
      await createClient({ store })
        .session("s")
        .answer(open?.callKey ?? "", { type: "approve" }, answer);
      const session = createClient({ store: watched }).session("s");
      if (by === "request") expect(await session.hasAnswerFrom("m-1")).toBe(true);
      else expect(await session.answerTo(open?.callKey ?? "")).toMatchObject({ type: "approve" });
      expect(await store.inbox("s")).toEqual([]);
      expect(await session.hasAnswerFrom("m-2")).toBe(false);
    },
  );

  test("to an input that was not the one shown is refused", verifies("HITL-4", "SEC-6#bound"), async () => {
    const store = createMemoryStore();
    const { agent } = createPayer(store, [asks(1)]);
    await agent.run("Pay.", { sessionId: "s" });
    const client = createClient({ store });
    const [open] = await collect(pendingApprovals(store));
    const { callKey = "" } = open ?? {};
    const other = "0".repeat(64);
    await expect(client.session("s").answer(callKey, { type: "approve" }, { inputHash: other })).rejects.toMatchObject({
      code: "bad_input",
    });
    expect(await store.inbox("s")).toEqual([]);
  });

  test("to what expired is told so", async () => {
    const store = createMemoryStore();
    const clock = createTestClock();
    const { agent } = createPayer(store, [asks(1), { text: "Not paid." }], "payer", clock);
    const expiring = agent.with({ canExecuteTool: () => ({ verdict: "ask", expiresInMs: 1_000 }) });
    await expiring.run("Pay.", { sessionId: "s" });
    const client = createClient({ store, clock });
    const [open] = await collect(pendingApprovals(store));
    const { callKey = "", expiresAt, askedAt = 0 } = open ?? {};
    expect(expiresAt).toBe(askedAt + 1_000);
    await clock.advance(2_000);
    const resumed = expiring.session("s").resume();
    await clock.advance(0);
    await resumed;
    expect(await client.session("s").answer(callKey, { type: "approve" })).toBe("second");
    expect(await client.session("s").answerTo(callKey)).toEqual({ type: "expired", at: clock.now() });
  });
});

describe("a client steers and aborts", () => {
  test("a run that another process drives", verifies("LOOP-8#between-processes"), async () => {
    const store = createMemoryStore();
    const gate = createGateTool();
    const model = createScriptedModel([{ calls: [{ name: "gate" }] }, { text: "With tabs." }]);
    const agent = createAgent({ model, tools: [gate.tool], store });
    const running = agent.run("Indent it.", { sessionId: "s" });
    await gate.started;
    const steered = (async () => {
      for await (const { type } of agent.session("s").events()) if (type === "steered") return;
    })();
    await createClient({ store }).session("s").steer("Use tabs.");
    await steered;
    gate.open("indented");
    expect(await running).toMatchObject({ status: "completed" });
    expect(JSON.stringify(model.requests[1]?.messages.at(-1))).toContain("Use tabs.");
  });

  test("and what has no run under way is not steered", async () => {
    const store = createMemoryStore();
    const { agent } = createPayer(store, [{ text: "Done." }]);
    await agent.run("Go.", { sessionId: "s" });
    const client = createClient({ store });
    await expect(client.session("s").steer("Faster.")).rejects.toMatchObject({ code: "run_finished" });
    await expect(client.session("x").steer("Faster.")).rejects.toMatchObject({ code: "no_session" });
    expect(await store.inbox("s")).toEqual([]);
  });

  test("a run that waits for a person ends once somebody carries it on", async () => {
    const store = createMemoryStore();
    const { agent, paid } = createPayer(store, [asks(1)]);
    await agent.run("Pay.", { sessionId: "s" });
    await createClient({ store }).session("s").abort({ by: "ada" });
    await createWorker({ store, agents: [agent] }).runUntilIdle();
    expect(await agent.session("s").result()).toMatchObject({ status: "aborted" });
    expect(paid).toEqual([]);
  });
});

/**
 * What waits in a whole store, listed without an agent.
 */
import { describe, expect, test } from "vitest";
import {
  createAgent,
  createMemoryStore,
  defineTool,
  type Hook,
  pendingApprovals,
  type StoredApproval,
} from "../../src/index.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import { createTestClock } from "../../src/testing/test-clock.js";
import { collect, createEchoTool, createGateTool } from "../support/agents.js";
import { localStores, withStore } from "../support/stores.js";

const keysOf = (approvals: readonly StoredApproval[]) =>
  approvals.map(({ sessionId, callKey }) => `${sessionId} ${callKey}`).sort();

describe.each(localStores)("on $name", ({ open }) => {
  test("lists what waits in all sessions, as each session would", async () => {
    await withStore(open, async (store) => {
      const { tool } = createEchoTool();
      const asking = (name: string) =>
        createAgent({
          name,
          model: createScriptedModel([{ calls: [{ name: "echo", input: { name } }, { name: "echo" }] }, { text: "." }]),
          tools: [tool],
          canExecuteTool: () => ({ verdict: "ask", question: `May ${name}?`, expiresInMs: 60_000 }),
          store,
        });
      const names = ["one", "two", "three"];
      for (const name of names) await asking(name).run(`Ask for ${name}.`, { sessionId: name, runId: `run-${name}` });
      await createAgent({ model: createScriptedModel([{ text: "Hi." }]), store }).run("Hello");

      const listed = await collect(pendingApprovals(store));
      expect(keysOf(listed)).toEqual(
        names.flatMap((name) => [`${name} run-${name}/1/1`, `${name} run-${name}/1/2`]).sort(),
      );
      for (const name of names) {
        const own = await asking(name).session(name).pendingApprovals();
        const session = { agent: name, model: "scripted", title: `Ask for ${name}.` };
        expect(listed.filter(({ sessionId }) => sessionId === name)).toEqual(
          own.map(({ toolCallId: _, ...approval }) => ({
            ...approval,
            session,
            askedAt: expect.any(Number),
            waitsSince: expect.any(Number),
          })),
        );
      }
    });
  });

  test("a call that waits while its siblings run is listed; one that was answered is not, whoever carries on", async () => {
    await withStore(open, async (store) => {
      const gate = createGateTool();
      const { tool } = createEchoTool();
      const model = createScriptedModel([{ calls: [{ name: "echo" }, { name: "gate" }] }, { text: "Done." }]);
      const agent = createAgent({
        model,
        tools: [{ ...tool, needsApproval: true }, gate.tool],
        store,
      });
      const result = agent.run("Go", { sessionId: "s", runId: "r" });
      await gate.started;
      expect(keysOf(await collect(pendingApprovals(store)))).toEqual(["s r/1/1"]);
      const body = { type: "answer", callKey: "r/1/1", answer: { type: "approve" } } as const;
      await store.post("s", { id: "answer", at: 1, body });
      expect(await collect(pendingApprovals(store))).toEqual([]);
      gate.open("ok");
      expect(await result).toMatchObject({ status: "completed" });
    });
  });

  test("an edit that came back is listed as it is now, however far it is from the model's message", async () => {
    await withStore(open, async (store) => {
      const strict = defineTool({
        name: "strict",
        description: "Counts.",
        input: { type: "object", properties: { n: { type: "number" } }, required: ["n"] },
        needsApproval: true,
        execute: (input) => String(input.n),
      });
      const model = createScriptedModel([{ calls: [{ name: "strict", input: { n: 1 } }] }, { text: "Done." }]);
      const oneMore: Hook = {
        name: "one more",
        beforeToolCall: ({ isEdited, input }) =>
          isEdited ? { input: { n: (input as { readonly n: number }).n + 1 } } : undefined,
      };
      const agent = createAgent({ model, tools: [strict], store, hooks: [oneMore] });
      await agent.run("Go", { sessionId: "s", runId: "r" });
      const session = agent.session("s");
      for (let n = 0; n < 40; n += 1) {
        await session.answer("r/1/1", { type: "modify", input: { n } });
        await session.resume();
      }
      const [first, ...rest] = await collect(pendingApprovals(store));
      expect(rest).toEqual([]);
      expect(first).toMatchObject({
        input: { n: 40 },
        question: expect.stringContaining("A hook changed"),
      });
    });
  });

  test("there are more than a page, and a reader may leave", async () => {
    await withStore(open, async (store) => {
      const agent = createAgent({
        model: createScriptedModel(() => ({ calls: [{ name: "ask" }] })),
        tools: [{ name: "ask", description: "Asks.", input: { type: "object" } }],
        store,
      });
      const ids = Array.from({ length: 230 }, (_, index) => `s${index}`);
      for (const sessionId of ids) await agent.run("Go", { sessionId });
      const listed = await collect(pendingApprovals(store));
      expect(listed.map(({ sessionId }) => sessionId).sort()).toEqual(ids.sort());
      expect(new Set(listed.map(({ why }) => why))).toEqual(new Set(["external"]));
      for await (const approval of pendingApprovals(store)) {
        expect(approval).toEqual(listed[0]);
        break;
      }
    });
  });
});

test("each says since when it waits: since it was decided, or since the restart that put it in doubt", async () => {
  const store = createMemoryStore();
  const clock = createTestClock();
  const gate = createGateTool("gate", { heedsSignal: false });
  const { tool } = createEchoTool();
  const model = createScriptedModel([{ calls: [{ name: "gate" }, { name: "echo" }] }, { text: "Done." }]);
  const tools = [
    { ...gate.tool, recover: "ask" as const },
    { ...tool, needsApproval: true },
  ];
  const agent = createAgent({ model, tools, store, clock });
  void agent.run("Go", { sessionId: "s", runId: "r" });
  await gate.started;
  const decidedAt = clock.now();
  const shutdown = agent.shutdown({ graceMs: 1_000 });
  await clock.advance(1_000);
  await shutdown;
  await agent.with({}).session("s").resume();
  expect(await collect(pendingApprovals(store))).toMatchObject([
    { callKey: "r/1/1", why: "recovery", askedAt: decidedAt + 1_000 },
    { callKey: "r/1/2", why: "policy", askedAt: decidedAt },
  ]);
});

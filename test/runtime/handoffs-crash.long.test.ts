/**
 * A run that is handed over and back, with a crash before and after each commit, and at every pair of them.
 */
import { expect, test } from "vitest";
import {
  type Agent,
  createAgent,
  createMemoryStore,
  defineTool,
  type HandoffView,
  type Hook,
} from "../../src/index.js";
import { modelRequests } from "../../src/inspect.js";
import type { ModelRequest } from "../../src/ports/model.js";
import { crashTest } from "../../src/testing/crash-test.js";
import { createScriptedModel, type ScriptedStep } from "../../src/testing/scripted-model.js";
import { verifies } from "../verifies.js";

const text = (part: string) => ({ type: "text", text: part }) as const;

test("whatever dies, the same agents see the same things, and no call runs for two of them", {
  ...verifies("AGENT-1"),
  timeout: 120_000,
}, async () => {
  const store = createMemoryStore();
  const requests: { readonly agent: string; readonly request: ModelRequest }[] = [];
  const refunds = new Set<string>();
  const model = (agent: string, steps: { readonly [index: number]: ScriptedStep }) =>
    createScriptedModel((request) => {
      requests.push({ agent, request: { ...request, messages: [...request.messages] } });
      return steps[request.modelCallIndex];
    });
  const look = defineTool({
    name: "look",
    description: "Looks an order up.",
    input: { type: "object" },
    needsApproval: true,
    recover: "rerun",
    execute: () => "an order",
  });
  const refund = defineTool({
    name: "refund",
    description: "Pays back.",
    input: { type: "object" },
    recover: "rerun",
    execute: (_input, { idempotencyKey }) => {
      refunds.add(idempotencyKey);
      return "refunded";
    },
  });
  const hook: Hook = { name: "h", async afterStep() {} };
  const create = (): Agent => {
    const agents: { readonly triage: Agent; readonly billing: Agent } = {
      triage: createAgent({
        name: "triage",
        model: model("triage", {
          1: { calls: [{ name: "transfer_to_billing" }, { name: "look" }, { name: "transfer_to_billing" }] },
          4: { text: "Anything else?" },
        }),
        systemPrompt: "Find out what is wanted.",
        tools: [look],
        hooks: [hook],
        handoffs: [{ name: "billing", description: "Payments.", agent: () => agents.billing }],
      }),
      billing: createAgent({
        name: "billing",
        model: model("billing", {
          2: { calls: [{ name: "refund" }] },
          3: { calls: [{ name: "transfer_to_triage" }] },
        }),
        systemPrompt: "You pay back.",
        tools: [refund],
        handoffs: [{ name: "triage", description: "All else.", agent: () => agents.triage, needsApproval: true }],
      }),
    };
    return agents.triage;
  };
  const report = await crashTest({
    agent: create,
    input: "Pay me back.",
    store,
    pairs: true,
    reset() {
      requests.length = 0;
      refunds.clear();
    },
    async check({ result, log, sessionId }) {
      expect(result).toMatchObject({ status: "completed", text: "Anything else?", steps: 4 });
      expect(refunds.size).toBe(1);
      expect(log.flatMap(({ event }) => (event.type === "handed_off" ? [[event.from, event.to]] : []))).toEqual([
        ["triage", "billing"],
        ["billing", "triage"],
      ]);
      const results = log.flatMap(({ event }) => (event.type === "tool_finished" ? [event.outcome] : []));
      expect(results.filter((outcome) => outcome === "ok").length).toBe(4);
      const rebuilt = new Map<string, ModelRequest>();
      for await (const request of modelRequests(store, sessionId))
        rebuilt.set(`${request.modelCallIndex}/${request.attempt}`, request);
      for (const { agent, request } of requests) {
        expect(request).toEqual(rebuilt.get(`${request.modelCallIndex}/${request.attempt}`));
        expect(agent).toBe(request.modelCallIndex === 2 || request.modelCallIndex === 3 ? "billing" : "triage");
      }
      expect(requests.at(-1)?.request.messages.at(-1)).toMatchObject({
        parts: [{ output: text("Handed over to triage.") }],
      });
      const replay = await create().with({ store }).session(sessionId).replay();
      expect(replay.difference).toBeNull();
    },
  });
  expect(report.plays).toBeGreaterThan(100);
  expect(Object.values(report.unknown).every((count) => count === 0)).toBe(true);
});

test.each([
  ["as text", "text"],
  ["by a function", async ({ messages }: HandoffView) => [note, ...messages.slice(-20)]],
] as const)(
  "shown %s, and then summed up: each life sends what the log says",
  { ...verifies("AGENT-1"), timeout: 120_000 },
  async (_, filter) => {
    const store = createMemoryStore();
    const requests: ModelRequest[] = [];
    const model = (id: string, step: (request: ModelRequest) => ScriptedStep) =>
      createScriptedModel(
        (request) => {
          requests.push({ ...request, messages: [...request.messages] });
          return step(request);
        },
        { id },
      );
    const look = defineTool({
      name: "look",
      description: "Looks an order up.",
      input: { type: "object" },
      recover: "rerun",
      execute: () => "a chair, a table, ".repeat(12),
    });
    const refund = defineTool({
      name: "refund",
      description: "Pays back.",
      input: { type: "object" },
      needsApproval: true,
      recover: "rerun",
      execute: () => "refunded",
    });
    const create = (): Agent => {
      const billing = createAgent({
        name: "billing",
        model: model("large", ({ modelCallIndex }) =>
          modelCallIndex < 14 ? { calls: [{ name: "refund", input: { modelCallIndex } }] } : { text: "Paid back." },
        ),
        tools: [refund],
        compaction: { contextWindow: 1_200, model: createScriptedModel(() => ({ text: "Orders were looked up." })) },
      });
      return createAgent({
        name: "triage",
        model: model("small", ({ modelCallIndex }) =>
          modelCallIndex < 11
            ? { calls: [{ name: "look", input: { modelCallIndex } }] }
            : { calls: [{ name: "transfer_to_billing" }] },
        ),
        tools: [look],
        compaction: null,
        handoffs: [{ name: "billing", description: "Payments.", agent: () => billing, filter }],
      });
    };
    const report = await crashTest({
      agent: create,
      input: "Pay me back.",
      store,
      reset() {
        requests.length = 0;
      },
      async check({ result, log, sessionId }) {
        expect(result).toMatchObject({ status: "completed", text: "Paid back." });
        const types = log.map(({ event }) => event.type);
        expect(types.filter((type) => type === "handed_off")).toHaveLength(1);
        const summed = log.findIndex(({ event }) => event.type === "compacted" && event.summary !== undefined);
        expect(summed).toBeGreaterThan(types.indexOf("handed_off"));
        const rebuilt = new Map<string, ModelRequest>();
        for await (const request of modelRequests(store, sessionId))
          if (request.purpose !== "compaction") rebuilt.set(`${request.modelCallIndex}/${request.attempt}`, request);
        for (const request of requests)
          expect(request).toEqual(rebuilt.get(`${request.modelCallIndex}/${request.attempt}`));
        expect((await create().with({ store }).session(sessionId).replay()).difference).toBeNull();
      },
    });
    expect(report.plays).toBeGreaterThan(40);
  },
);

const note = { role: "user", parts: [text("You take over.")] } as const;

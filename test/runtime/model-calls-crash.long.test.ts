/**
 * Calls with messages, a model and settings of their own, with a crash before and after every commit, and every pair of
 * crashes: what a model got is what the log says.
 */
import { expect, test } from "vitest";
import { createAgent, createMemoryStore, type Hook, type ModelRequest } from "../../src/index.js";
import { modelRequests } from "../../src/inspect.js";
import { crashTest } from "../../src/testing/crash-test.js";
import { createScriptedModel, type ScriptedStep } from "../../src/testing/scripted-model.js";
import { collect, createEchoTool } from "../support/agents.js";
import { createSizedMessage } from "../support/message-lists.js";
import { verifies } from "../verifies.js";

const steps: readonly ScriptedStep[] = [
  { calls: [{ name: "echo", input: { n: 1 } }] },
  { calls: [{ name: "echo", input: { n: 2 } }] },
  { text: "Done." },
];

/** Another list, another model and other settings in each step: a long message that stays the same, and short ones. */
const phases: Hook = {
  name: "phases",
  beforeLLMCall: ({ modelCallIndex, messages }) => ({
    messages: [
      createSizedMessage("Long", 500),
      ...messages.slice(-2 * modelCallIndex + 1),
      createSizedMessage(`Step ${modelCallIndex}`),
    ],
    model: modelCallIndex === 2 ? "fast" : "smart",
    settings: { seed: modelCallIndex },
  }),
};

test("every crash, and every pair", { ...verifies("LOOP-16", "LOOP-20", "REC-1"), timeout: 120_000 }, async () => {
  const store = createMemoryStore();
  let sent: ModelRequest[] = [];
  const model = (id: string) =>
    createScriptedModel(
      (request) => {
        sent.push({ ...request, messages: [...request.messages] });
        return steps[request.modelCallIndex - 1];
      },
      { id, record: false },
    );
  const report = await crashTest({
    agent: () =>
      createAgent({
        name: "phases",
        model: model("own"),
        models: { fast: model("fast"), smart: model("smart") },
        tools: [createEchoTool().tool],
        hooks: [phases],
      }),
    input: "Go",
    pairs: true,
    store,
    reset() {
      sent = [];
    },
    async check({ sessionId, result }) {
      expect(result).toMatchObject({ status: "completed", text: "Done." });
      const made = await collect(modelRequests(store, sessionId));
      for (const request of sent) expect(made).toContainEqual(request);
      expect(new Set(sent.map(({ modelCallIndex, seed }) => `${modelCallIndex} ${seed}`))).toEqual(
        new Set(["1 1", "2 2", "3 3"]),
      );
    },
  });
  expect(report.plays).toBeGreaterThan(50);
  expect(report.crashes).toBeGreaterThan(report.plays);
});

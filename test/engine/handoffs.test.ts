/** Handoffs between the agents of an engine. */
import { expect, test } from "vitest";
import {
  createClient,
  createEngine,
  createMemoryStore,
  defineTool,
  type Engine,
  type Plugin,
  type Store,
} from "../../src/index.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import { verifies } from "../verifies.js";

const refund = defineTool({
  name: "refund",
  description: "Pays back.",
  input: { type: "object" },
  needsApproval: true,
  recover: "rerun",
  execute: () => "refunded",
});

/** Two agents, of which the first hands over to the second, and a plugin that notes the steps of both. */
async function createDesk(store: Store, steps: number[]): Promise<Engine> {
  const noting: Plugin = {
    name: "notes",
    version: "1.0.0",
    setup: ({ registerHook }) =>
      registerHook({ name: "steps", afterStep: ({ modelCallIndex }) => void steps.push(modelCallIndex) }),
  };
  const engine: Engine = await createEngine({
    plugins: [noting],
    store,
    agents: [
      {
        name: "triage",
        model: createScriptedModel([{ calls: [{ name: "transfer_to_billing" }] }]),
        handoffs: [{ name: "billing", description: "Payments.", agent: () => engine.agent("billing") }],
      },
      {
        name: "billing",
        model: createScriptedModel(({ messages }) =>
          JSON.stringify(messages).includes("refunded") ? { text: "Paid back." } : { calls: [{ name: "refund" }] },
        ),
        tools: [refund],
      },
    ],
  });
  return engine;
}

test("an engine's agents hand over to each other, and the worker carries on with the right one", {
  ...verifies("AGENT-1"),
}, async () => {
  const store = createMemoryStore();
  const steps: number[] = [];
  const first = await createDesk(store, steps);
  const waiting = await first.agent("triage").run("Pay me back.", { sessionId: "s" });
  if (waiting.status !== "awaiting_human") throw new Error(waiting.status);
  await first.shutdown();
  await createClient({ store })
    .session("s")
    .answer(waiting.approvals[0]?.callKey ?? "", { type: "approve" });
  const second = await createDesk(store, steps);
  await second.recover();
  expect(await second.agent("triage").session("s").result()).toMatchObject({ status: "completed", text: "Paid back." });
  expect((await store.load("s"))?.state.session).toMatchObject({ agent: "billing" });
  expect(steps).toEqual([1, 2, 3]);
  await second.shutdown();
});

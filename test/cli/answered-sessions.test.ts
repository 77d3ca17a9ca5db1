/**
 * Which sessions `pawl agents` lists as answered.
 */
import { expect, test } from "vitest";
import { listRunningSessions } from "../../src/cli/agent/running-sessions.js";
import { createAgent, createClient, createMemoryStore, defineTool, pendingApprovals } from "../../src/index.js";
import { createScriptedModel } from "../../src/testing/index.js";
import { verifies } from "../verifies.js";

test(
  "a session whose child waits for an answer is answered once the child's question is",
  verifies("AGENT-5"),
  async () => {
    const store = createMemoryStore();
    const pay = defineTool({
      name: "pay",
      description: "Pays.",
      input: { type: "object" },
      needsApproval: true,
      execute: () => "paid",
    });
    const child = createAgent({
      ...{ name: "payer", store, tools: [pay] },
      model: createScriptedModel([{ calls: [{ name: "pay", input: {} }] }, { text: "Paid." }]),
    });
    const agent = createAgent({
      ...{ name: "desk", store, tools: [child.asTool({ description: "Pays." })] },
      model: createScriptedModel([{ calls: [{ name: "payer", input: { task: "Pay." } }] }, { text: "Done." }]),
    });
    const progress = async () => (await listRunningSessions(store, null)).shown.map((one) => one.progress);
    expect(await agent.run("Go", { sessionId: "s" })).toMatchObject({ status: "awaiting_human" });
    await agent.shutdown({ graceMs: 0 });
    expect(await progress()).toEqual(["waits_for_person", "waits_for_person"]);
    await createClient({ store }).session("s").steer("Be brief", { by: "ada" });
    expect(await progress()).toEqual(["waits_for_person", "waits_for_person"]);
    for await (const { sessionId, callKey } of pendingApprovals(store))
      await createClient({ store }).session(sessionId).answer(callKey, { type: "approve" });
    expect(await progress()).toEqual(["answered", "answered"]);
  },
);

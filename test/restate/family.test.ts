/**
 * The work that a session and its child sessions have, as a service of Restate looks for it.
 */
import { expect, test } from "vitest";
import { createAgent, createMemoryStore, type Store } from "../../src/index.js";
import { overrideMembers } from "../../src/ports/override-members.js";
import { findFamilyWork } from "../../src/restate/family.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";

test("a child in the background that has not begun is work of its family", async () => {
  const memory = createMemoryStore();
  const isChild = (sessionId: string) => sessionId !== "p";
  // The process dies before the child's first commit: the child is only an inbox.
  const store = overrideMembers<Store>(memory, {
    claim: async (sessionId, options) =>
      isChild(sessionId)
        ? {
            type: "held",
            holder: { id: "other", host: "elsewhere", pid: 1, startedAt: 0 },
            expiresAt: Number.MAX_SAFE_INTEGER,
          }
        : memory.claim(sessionId, options),
  });
  const scout = createAgent({ name: "scout", model: createScriptedModel([]) });
  const agent = createAgent({
    model: createScriptedModel([{ calls: [{ name: "scout", input: { task: "x" } }] }, { text: "Later." }]),
    tools: [scout.asTool({ description: "Scouts.", background: true })],
    store,
  });
  await agent.run("Go.", { sessionId: "p" });
  const { background } = await agent.session("p").state();
  const childId = background?.[0]?.childId ?? "";
  expect(await findFamilyWork(memory, "p", Date.now())).toMatchObject({ due: [childId] });
  await agent.shutdown();
});

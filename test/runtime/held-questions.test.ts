/**
 * Questions of a tool that goes on running while it waits for the answer.
 */
import { expect, test } from "vitest";
import { createAgent, createMemoryStore, defineTool, type Store } from "../../src/index.js";
import { markHeld } from "../../src/ports/held-question.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import { verifies } from "../verifies.js";

function asking(store: Store) {
  const book = defineTool({
    name: "book",
    description: "Books a table.",
    input: { type: "object" },
    recover: "rerun",
    async execute(_input, { ask }) {
      const name = await ask(markHeld({ name: "name", message: "In which name?", schema: { type: "string" } }));
      const time = await ask(markHeld({ name: "time", message: "At what time?", schema: { type: "string" } }));
      return [name, time].map((one) => (one.type === "answered" ? one.value : one.type)).join(" at ");
    },
  });
  const model = createScriptedModel(({ modelCallIndex }) =>
    modelCallIndex === 1 ? { calls: [{ name: "book", input: {} }] } : { text: "Booked." },
  );
  return { agent: createAgent({ name: "host", model, tools: [book], store }), model };
}

type Agent = ReturnType<typeof asking>["agent"];

/** Waits until a question of this name is open. */
async function question(agent: Agent, name: string) {
  for (;;) {
    const open = (await agent.session("s").pendingApprovals()).find(({ questionId }) => questionId === name);
    if (open !== undefined) return open;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

async function reply(agent: Agent, questionId: string, value: string) {
  const { callKey } = await question(agent, questionId);
  return await agent.session("s").answer(callKey, { type: "reply", value }, { questionId });
}

test("a question that is asked anew after a restart is answered anew", verifies("TOOL-13#mcp"), async () => {
  const store = createMemoryStore();
  const first = asking(store);
  const run = first.agent.run("Book a table.", { sessionId: "s" });
  expect(await reply(first.agent, "name", "Ada")).toBe("first");
  await question(first.agent, "time");
  await first.agent.shutdown({ graceMs: 0 });
  expect(await run).toMatchObject({ status: "interrupted" });

  const second = asking(store);
  const resumed = second.agent.session("s").resume();
  expect(await reply(second.agent, "name", "Grace")).toBe("first");
  expect(await reply(second.agent, "time", "noon")).toBe("first");
  expect(await resumed).toMatchObject({ status: "completed", text: "Booked." });
  const results = (await store.read("s")).flatMap(({ event }) =>
    event.type === "tool_finished" ? [event.output] : [],
  );
  expect(results).toEqual([{ type: "text", text: "Grace at noon" }]);
});

/**
 * An agent as a tool of another. The inner agent works in a session of its own, and the outer session shows its
 * question to a person.
 */
import assert from "node:assert/strict";
import { createAgent, createMemoryStore, defineTool } from "pawl";
import { createScriptedModel } from "pawl/testing";

const order = defineTool({
  name: "order",
  description: "Orders a spare part.",
  input: { type: "object", properties: { part: { type: "string" } }, required: ["part"] },
  needsApproval: true,
  execute: ({ part }) => `${part} is ordered`,
});

const buyer = createAgent({
  name: "buyer",
  model: createScriptedModel([
    { calls: [{ name: "order", input: { part: "ratchet wheel" } }] },
    { text: "The ratchet wheel is on its way." },
  ]),
  tools: [order],
});
const mechanic = createAgent({
  name: "mechanic",
  model: createScriptedModel([
    { calls: [{ name: "buyer", input: { task: "Get a ratchet wheel." } }] },
    { text: "The winch will be repaired on Friday." },
  ]),
  tools: [buyer.asTool({ description: "Buys what is needed." })],
  store: createMemoryStore(),
});

const waiting = await mechanic.run("Repair the winch.", { sessionId: "winch" });
assert.equal(waiting.status, "awaiting_human");

const session = mechanic.session("winch");
for (const approval of await session.pendingApprovals()) {
  console.log("may", approval.name, JSON.stringify(approval.input), "?");
  await session.answer(approval.callKey, { type: "approve" });
}
for await (const event of session.events()) {
  if (event.type !== "final") continue;
  console.log(event.result.text);
  assert.equal(event.result.status, "completed");
  break;
}

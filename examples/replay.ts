/**
 * A session as a test of tomorrow's code: a replay runs the recorded session again, changes nothing, and tells the
 * first difference.
 */
import assert from "node:assert/strict";
import { createAgent, createMemoryStore, defineTool } from "pawl";
import { createReplayModel, recordModel } from "pawl/models";
import { createScriptedModel } from "pawl/testing";

let paid = 0;
const pay = defineTool({
  name: "pay",
  description: "Pays an amount in euros.",
  input: { type: "object", properties: { amount: { type: "number" } }, required: ["amount"] },
  execute: ({ amount }) => {
    paid += Number(amount);
    return `paid ${amount}`;
  },
});

// Any model can be recorded; this one replaces a real one.
const model = createScriptedModel([
  { calls: [{ name: "pay", input: { amount: 900 } }] },
  { text: "The rent is paid." },
]);
const store = createMemoryStore();
const agent = createAgent({ model: recordModel(model, { path: "rent.jsonl" }), tools: [pay], store });
await agent.run("Pay the rent.", { sessionId: "rent" });

// The log, against the same code: no difference, and nothing is paid.
const same = await agent.session("rent").replay();
console.log(`${same.entries} entries, difference:`, same.difference);
assert.equal(same.difference, null);

// Against tomorrow's policy.
const careful = agent.with({
  canExecuteTool: ({ input }) => (JSON.stringify(input).includes("900") ? "ask" : "allow"),
});
const { difference } = await careful.session("rent").replay();
console.log(difference?.message);
assert.equal(difference?.path, "decision.verdict");
assert.equal(paid, 900);

// The recording answers in the model's place: same requests, same answers, offline.
const offline = createAgent({ model: createReplayModel("rent.jsonl"), tools: [pay] });
const again = await offline.run("Pay the rent.");
console.log(again.status, "-", again.text);
assert.equal(again.text, "The rent is paid.");

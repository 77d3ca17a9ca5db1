/**
 * A handoff: one agent passes its session on to another, which waits for a person and then answers the next message too.
 */
import assert from "node:assert/strict";
import { createAgent, createMemoryStore, defineTool } from "pawl";
import { createScriptedModel } from "pawl/testing";

const store = createMemoryStore();
const refund = defineTool({
  name: "refund",
  description: "Pays an invoice back.",
  input: { type: "object", properties: { invoice: { type: "string" } }, required: ["invoice"] },
  needsApproval: true,
  execute: ({ invoice }) => `${invoice} was paid back`,
});

const billing = createAgent({
  name: "billing",
  model: createScriptedModel([
    { calls: [{ name: "refund", input: { invoice: "R-2" } }] },
    { text: "You were charged twice. The second invoice is paid back." },
    { text: "You are welcome." },
  ]),
  tools: [refund],
  store,
});
const triage = createAgent({
  name: "triage",
  model: createScriptedModel([{ calls: [{ name: "transfer_to_billing", input: {} }] }]),
  handoffs: [
    {
      name: "billing",
      description: "Questions about invoices.",
      agent: () => billing,
      // Billing reads a note, and of the conversation the question and the handoff itself.
      filter: ({ messages, from }) => [
        { role: "user", parts: [{ type: "text", text: `(Handed over by ${from}.)` }] },
        ...messages.slice(-3),
      ],
    },
  ],
  store,
});

const waiting = await triage.run("I was charged twice.", { sessionId: "ticket-17" });
assert.equal(waiting.status, "awaiting_human");

// Either agent object reaches the session.
const session = billing.session("ticket-17");
for (const approval of await session.pendingApprovals()) {
  console.log("may", approval.name, JSON.stringify(approval.input), "?");
  await session.answer(approval.callKey, { type: "approve" });
}
const result = await triage.session("ticket-17").resume();
assert.equal(result?.status, "completed");
console.log(result?.text);

const [note] = await session.messages();
assert.deepEqual(note, { role: "user", parts: [{ type: "text", text: "(Handed over by triage.)" }] });

const next = await triage.run("Thank you.", { sessionId: "ticket-17" });
assert.equal(next.text, "You are welcome.");
console.log("billing:", next.text);

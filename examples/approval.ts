/**
 * A call that asks: the run returns its open questions and holds nothing. Any process that opens the store can
 * answer, days later.
 */
import assert from "node:assert/strict";
import { createAgent, defineTool } from "pawl";
import { openSqliteStore } from "pawl/sqlite";
import { createScriptedModel } from "pawl/testing";

const payments: number[] = [];
const pay = defineTool({
  name: "pay",
  description: "Pays an amount in euros.",
  input: { type: "object", properties: { amount: { type: "number" } }, required: ["amount"] },
  needsApproval: true,
  execute: ({ amount }) => {
    payments.push(Number(amount));
    return `paid ${amount}`;
  },
});

const store = await openSqliteStore({ path: "sessions.db" });
const asking = createAgent({
  model: createScriptedModel([{ calls: [{ name: "pay", input: { amount: 900 } }] }]),
  tools: [pay],
  store,
});
const waiting = await asking.run("Pay the rent.", { sessionId: "rent" });
assert.equal(waiting.status, "awaiting_human");

// Another agent of the same name, like one in another process.
const answering = createAgent({ model: createScriptedModel([{ text: "The rent is paid." }]), tools: [pay], store });
const session = answering.session("rent");
for (const approval of await session.pendingApprovals()) {
  console.log("may it", approval.name, JSON.stringify(approval.input), "?");
  await session.answer(approval.callKey, { type: "modify", input: { amount: 850 } }, { by: "ada" });
}

let result = await session.result();
for await (const event of session.events())
  if (event.type === "final") {
    result = event.result;
    break;
  }
console.log(result?.status, "-", result?.text);
assert.equal(result?.status, "completed");
assert.deepEqual(payments, [850]);
await store.close();

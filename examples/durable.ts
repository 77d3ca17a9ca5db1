/**
 * A run is cut off in the middle. Another agent carries it on from the same file and repeats no completed call.
 */
import assert from "node:assert/strict";
import { createAgent, defineTool } from "pawl";
import { openSqliteStore } from "pawl/sqlite";
import { createScriptedModel, type ScriptedStep } from "pawl/testing";

const answers: ScriptedStep[] = [
  { text: "First the invoice.", calls: [{ name: "send_invoice", input: { to: "ada@example.org" } }] },
  { text: "Now the ledger.", calls: [{ name: "read_ledger", input: {} }] },
  { text: "The invoice is sent and the ledger is balanced." },
];
let sent = 0;
const sendInvoice = defineTool({
  name: "send_invoice",
  description: "Sends an invoice by mail.",
  input: { type: "object", properties: { to: { type: "string" } }, required: ["to"] },
  execute: () => {
    sent += 1;
    return "sent";
  },
});

async function life(model: ReturnType<typeof createScriptedModel>, whenReading: () => Promise<string>) {
  const store = await openSqliteStore({ path: "sessions.db" });
  const readLedger = defineTool({
    name: "read_ledger",
    description: "Reads the ledger.",
    input: { type: "object" },
    readOnly: true,
    execute: whenReading,
  });
  return { store, agent: createAgent({ name: "bookkeeper", model, tools: [sendInvoice, readLedger], store }) };
}

// The first agent: its process is told to stop while the tool reads the ledger.
const first = await life(createScriptedModel(answers), () => {
  void first.agent.shutdown({ graceMs: 0 });
  return new Promise(() => {});
});
const cut = await first.agent.run("Send the invoice and check the ledger.", { sessionId: "march" });
console.log("first life:", cut.status);
assert.equal(cut.status, "interrupted");
await first.store.close();

// The second agent: the same file.
const second = await life(createScriptedModel(answers.slice(2)), async () => "balanced");
const result = await second.agent.session("march").resume();
console.log("second life:", result.status, "-", result.text);
assert.equal(result.status, "completed");
assert.equal(sent, 1, "the invoice went out once");
await second.store.close();

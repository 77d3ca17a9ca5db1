/**
 * An engine with two plugins: secrets that neither the model nor the log ever sees, and an audit log of every
 * decision.
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createEngine, createMemoryStore, defineTool } from "pawl";
import { createScriptedModel } from "pawl/testing";
import { type AuditLine, createAuditLog } from "./plugins/audit-log.js";
import { createSecretMasking, type Secrets } from "./plugins/secret-masking.js";

const token = "correct-horse-battery-staple";

/** A server that wants the token, and repeats it in its answer. */
const server = createServer(({ headers: { authorization } }, response) => {
  if (authorization !== `Bearer ${token}`) response.writeHead(401);
  response.end(JSON.stringify({ balance: 1_041, debug: { authorization } }));
});
await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
const { port } = server.address() as AddressInfo;

const fetchBalance = defineTool({
  name: "fetch_balance",
  description: "Asks the bank for the balance. Give {{BANK_TOKEN}} as the token.",
  input: { type: "object", properties: { token: { type: "string" } }, required: ["token"] },
  readOnly: true,
  async execute({ token: named }, { services, signal }) {
    const { reveal } = services.secrets as Secrets;
    const headers = { authorization: `Bearer ${reveal(String(named))}` };
    const response = await fetch(`http://127.0.0.1:${port}/`, { headers, signal });
    return `${response.status} ${await response.text()}`;
  },
});
const transfer = defineTool({
  name: "transfer",
  description: "Transfers money.",
  input: { type: "object", properties: { cents: { type: "number" } }, required: ["cents"] },
  needsApproval: true,
  execute: ({ cents }) => `transferred ${String(cents)}`,
});

const model = createScriptedModel([
  { calls: [{ name: "fetch_balance", input: { token: "{{BANK_TOKEN}}" } }] },
  { calls: [{ name: "transfer", input: { cents: 900 } }] },
  { text: "There is too little for a transfer." },
]);
const store = createMemoryStore();
const engine = await createEngine({
  store,
  plugins: [createAuditLog({ path: "audit.jsonl" }), createSecretMasking({ BANK_TOKEN: token })],
  agents: [{ name: "teller", model, tools: [fetchBalance, transfer] }],
});
console.log("set up:", engine.plugins.map(({ name }) => name).join(", "));

const teller = engine.agent("teller");
const asked = await teller.run("Transfer 9 euros.", { sessionId: "ada" });
assert.equal(asked.status, "awaiting_human");
const session = teller.session("ada");
for (const { callKey } of await session.pendingApprovals())
  await session.answer(callKey, { type: "deny", note: "not before Friday" }, { by: "ada" });
const result = await session.resume();
assert.equal(result.status, "completed");
await engine.shutdown();
server.close();

// The bank got the token and repeated it; the model and the log know its name alone.
const shown = JSON.stringify(model.requests);
assert.ok(shown.includes("200 ") && shown.includes("Bearer {{BANK_TOKEN}}") && !shown.includes(token));
assert.ok(!JSON.stringify(await store.read("ada", 0, 1_000)).includes(token));

const audit = readFileSync("audit.jsonl", "utf8");
console.log(audit);
assert.ok(!audit.includes(token));
const lines = audit
  .trim()
  .split("\n")
  .map((line) => JSON.parse(line) as AuditLine);
assert.deepEqual(
  lines.filter(({ by }) => !by.startsWith("hook")).map(({ tool = "run", decision, by }) => [tool, decision, by]),
  [
    ["fetch_balance", "allow", "rules"],
    ["transfer", "ask", "rules"],
    ["transfer", "deny", "ada"],
    ["run", "end", "loop"],
  ],
);

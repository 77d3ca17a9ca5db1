/**
 * A durable tool: its process dies between two steps, and the next one goes on behind the last of them. Then the tool
 * asks a person, and runs again with the answer.
 */
import assert from "node:assert/strict";
import { createAgent, defineTool } from "pawl";
import { openSqliteStore } from "pawl/sqlite";
import { createScriptedModel } from "pawl/testing";

const done: string[] = [];
let dies = true;

const pay = defineTool({
  name: "pay",
  description: "Pays a bill.",
  input: { type: "object" },
  durable: true,
  async execute(_input, { step, ask }) {
    const amount = await step("bill", () => {
      done.push("read the bill");
      return 90;
    });
    if (dies) return new Promise<never>(() => {});
    const said = await ask({ message: `Pay ${amount} EUR?`, schema: { type: "boolean" } });
    if (said.type !== "answered" || said.value !== true) return "not paid";
    return step("transfer", ({ idempotencyKey }) => {
      done.push(`transfer ${idempotencyKey}`);
      return `paid ${amount}`;
    });
  },
});

const store = await openSqliteStore({ path: "sessions.db" });
const createPayer = () =>
  createAgent({
    model: createScriptedModel(({ messages }) =>
      messages.some(({ role }) => role === "tool") ? { text: "The bill is settled." } : { calls: [{ name: "pay" }] },
    ),
    tools: [pay],
    store,
  });

// The first process stops in the middle of the tool.
const first = createPayer();
const running = first.run("Pay the bill.", { sessionId: "bill", runId: "pay-it" });
while (done.length === 0 || !(await store.read("bill")).some(({ event }) => event.type === "tool_step_finished"))
  await new Promise((resolve) => setImmediate(resolve));
await first.shutdown({ graceMs: 0 });
assert.equal((await running).status, "interrupted");
dies = false;

// The next one goes on: the bill is not read again.
const waiting = await createPayer().session("bill").resume();
assert.equal(waiting.status, "awaiting_human");
assert.deepEqual(done, ["read the bill"]);

const session = createPayer().session("bill");
for (const { callKey, question } of await session.pendingApprovals()) {
  console.log(question);
  await session.answer(callKey, { type: "reply", value: true }, { by: "ada" });
}
const result = await session.resume();
assert.equal(result.status, "completed");
assert.deepEqual(done, ["read the bill", "transfer bill/pay-it/1/1/transfer"]);
console.log(result.text);
await store.close();

/**
 * Tests of an agent, with the test runner of Node: what it is sent, what it does, when it asks, what it makes of
 * failures, and whether it survives a crash anywhere. No test calls a model of a provider, and all take milliseconds.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type AgentOptions, createAgent, defineTool } from "pawl";
import { crashTest, createScriptedModel, type ScriptedStep } from "pawl/testing";

// The agent, as the service makes it. What tests replace are its parameters.
type Shop = { readonly refund: (order: string, cents: number, key: string) => Promise<string> };

function createSupport({ shop, ...given }: { readonly shop: Shop } & Pick<AgentOptions, "model" | "store" | "retry">) {
  const refund = defineTool({
    name: "refund",
    description: "Refunds an order.",
    input: {
      type: "object",
      properties: { order: { type: "string", pattern: "^[0-9]+$" }, cents: { type: "integer", minimum: 1 } },
      required: ["order", "cents"],
    },
    needsApproval: ({ cents }) => Number(cents) > 5_000,
    recover: "rerun", // the shop takes each key once
    execute: ({ order, cents }, { idempotencyKey }) => shop.refund(String(order), Number(cents), idempotencyKey),
  });
  return createAgent({ name: "support", systemPrompt: "You refund orders.", tools: [refund], ...given });
}

function createTestShop() {
  const refunds = new Map<string, number>();
  const shop: Shop = {
    async refund(order, cents, key) {
      refunds.set(key, cents);
      return `refunded ${order}`;
    },
  };
  return { shop, refunds };
}

const asks = (cents: number): ScriptedStep => ({ calls: [{ name: "refund", input: { order: "1041", cents } }] });
const ends: ScriptedStep = { text: "Done." };

test("a small refund runs, and the model is sent the prompt and the result", async () => {
  const { shop, refunds } = createTestShop();
  const model = createScriptedModel([asks(900), ends]);
  const result = await createSupport({ shop, model }).run("Refund 9 euros of order 1041");
  assert.equal(result.status, "completed");
  assert.deepEqual([...refunds.values()], [900]);
  assert.equal(model.requests[0]?.systemPrompt, "You refund orders.");
  assert.match(JSON.stringify(model.requests[1]?.messages), /refunded 1041/);
});

test("a large refund asks, and a denied one does not run", async () => {
  const { shop, refunds } = createTestShop();
  const agent = createSupport({ shop, model: createScriptedModel([asks(9_900), { text: "I may not." }]) });
  const waiting = await agent.run("Refund 99 euros");
  assert.equal(waiting.status, "awaiting_human");
  const [approval] = waiting.status === "awaiting_human" ? waiting.approvals : [];
  assert.deepEqual(approval?.input, { order: "1041", cents: 9_900 });
  const session = agent.session(waiting.sessionId);
  await session.answer(approval?.callKey ?? "", { type: "deny", note: "too much" });
  assert.equal((await session.resume()).text, "I may not.");
  assert.equal(refunds.size, 0);
});

test("an input that does not fit never reaches the shop, and the model may correct it", async () => {
  const { shop, refunds } = createTestShop();
  const model = createScriptedModel([{ calls: [{ name: "refund", input: { order: "1041; DROP" } }] }, asks(900), ends]);
  assert.equal((await createSupport({ shop, model }).run("Refund 9 euros")).status, "completed");
  assert.equal(refunds.size, 1);
});

test("an overloaded model is asked again, and a failure ends as data", async () => {
  const { shop } = createTestShop();
  const busy: ScriptedStep = { error: { kind: "overloaded", message: "busy" } };
  const retry = { baseDelayMs: 1, maxRetries: 1 };
  const again = await createSupport({ shop, retry, model: createScriptedModel([busy, ends]) }).run("Hello");
  assert.equal(again.text, "Done.");
  const never = await createSupport({ shop, retry, model: createScriptedModel(() => busy) }).run("Hello");
  assert.equal(never.status === "failed" && never.reason, "model_error");
});

test("the refund is made once, wherever the process dies", async () => {
  const { shop, refunds } = createTestShop();
  // This model answers by the step, not by the number of requests: a crash repeats requests.
  const answers = [asks(9_900), ends];
  const model = () => createScriptedModel(({ modelCallIndex }) => answers[modelCallIndex - 1]);
  const report = await crashTest({
    agent: () => createSupport({ shop, model: model() }),
    input: "Refund 99 euros",
    respond: () => ({ type: "approve" }),
    reset: () => refunds.clear(),
    check: ({ result }) => assert.deepEqual([result.text, refunds.size], ["Done.", 1]),
  });
  assert.ok(report.crashes > 5);
  assert.equal(report.unknown.refund ?? 0, 0);
});

/**
 * A cart that belongs to the session: two calls change it side by side, the process dies, a person corrects it from
 * outside, and a durable tool pays for it once.
 */
import assert from "node:assert/strict";
import { createAgent, defineTool } from "pawl";
import { openSqliteStore } from "pawl/sqlite";
import { createScriptedModel } from "pawl/testing";
import { todo } from "pawl/tools";

const charged: string[] = [];
let dies = true;

const add = defineTool({
  name: "add",
  description: "Adds an article to the cart.",
  input: { type: "object", properties: { article: { type: "string" } }, required: ["article"] },
  recover: "rerun",
  execute({ article }, { data }) {
    data.update("cart", (cart) => [...(Array.isArray(cart) ? cart : []), article]);
    return `added ${article}`;
  },
});

const pay = defineTool({
  name: "pay",
  description: "Pays for the cart.",
  input: { type: "object" },
  durable: true,
  needsApproval: (_input, { data }) => data.account === undefined,
  async execute(_input, { data, messages, step }) {
    data.update("payments", (count) => Number(count ?? 0) + 1);
    await step("charge", ({ idempotencyKey }) => charged.push(idempotencyKey));
    if (dies) return new Promise<never>(() => {});
    data.delete("cart");
    const said = messages.filter(({ role }) => role === "user").length;
    return `paid from ${String(data.get("account"))}, after ${said} message`;
  },
});

const store = await openSqliteStore({ path: "sessions.db" });
const plan = (status: string) => ({ name: "todo", input: { items: [{ text: "pay for the cart", status }] } });
const createShop = () =>
  createAgent({
    model: createScriptedModel(({ modelCallIndex }) => {
      if (modelCallIndex > 2) return { text: "All is paid." };
      const articles = ["pen", "ink"].map((article) => ({ name: "add", input: { article } }));
      return { calls: modelCallIndex === 1 ? [plan("open"), ...articles] : [{ name: "pay" }, plan("done")] };
    }),
    tools: [add, pay, todo()],
    store,
  });

// Nobody has named an account yet, so the payment waits for a person.
const shop = createShop();
const waiting = await shop.run("Buy a pen and ink.", { sessionId: "shop", runId: "buy" });
assert.equal(waiting.status, "awaiting_human");
const session = shop.session("shop");
assert.deepEqual((await session.data()).cart, ["pen", "ink"]);

// The person names it from outside, and lets the payment go on. The process dies behind the charge.
await session.setData({ set: { account: "DE02" } }, { by: "ada" });
for (const { callKey } of waiting.approvals) await session.answer(callKey, { type: "approve" }, { by: "ada" });
const interrupted = session.resume();
while (!(await store.read("shop")).some(({ event }) => event.type === "tool_step_finished"))
  await new Promise((resolve) => setImmediate(resolve));
await shop.shutdown({ graceMs: 0 });
assert.equal((await interrupted).status, "interrupted");
assert.equal((await createShop().session("shop").data()).payments, 1);
dies = false;

// The next process goes on: the charge and the change before it are in the log, and are not made again.
const result = await createShop().session("shop").resume();
assert.equal(result.status, "completed");
assert.deepEqual(charged, ["shop/buy/2/1/charge"]);
const { cart, ...rest } = await createShop().session("shop").data();
assert.equal(cart, undefined);
assert.deepEqual(rest, { account: "DE02", payments: 1, todo: [{ text: "pay for the cart", status: "done" }] });
console.log(rest);
await store.close();

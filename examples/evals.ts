/**
 * Evals: a recorded session becomes a case, and a changed prompt is found before it is deployed. No tool runs, and no answer
 * is paid for twice.
 */
import assert from "node:assert/strict";
import { createAgent, createMemoryStore, defineTool, type Store } from "pawl";
import { calls, createCase, evaluate, formatReport, inRecord, never, sameCalls, sameEnd, toExitCode } from "pawl/evals";
import { createScriptedModel } from "pawl/testing";

let refunds = 0;

/** A desk that looks an order up and refunds it. The stand-in for a model follows its prompt. */
function createDesk(systemPrompt: string, store: Store = createMemoryStore()) {
  const model = createScriptedModel(({ messages, systemPrompt: prompt = "" }) => {
    const results = messages.filter(({ role }) => role === "tool").length;
    const looksUp = prompt.includes("Look the order up");
    if (looksUp && results === 0) return { calls: [{ name: "look_up", input: { order: "7" } }] };
    if (results === (looksUp ? 1 : 0)) return { calls: [{ name: "refund", input: { order: "7" } }] };
    return { text: "Order 7 is refunded." };
  });
  const order = { type: "object", properties: { order: { type: "string" } }, required: ["order"] } as const;
  const lookUp = defineTool({
    name: "look_up",
    description: "Looks an order up.",
    input: order,
    readOnly: true,
    execute: () => ({ customer: "Ada Lovelace", cents: 4_900 }),
  });
  const refund = defineTool({
    name: "refund",
    description: "Refunds an order.",
    input: order,
    needsApproval: true,
    execute: () => {
      refunds += 1;
      return "refunded";
    },
  });
  return createAgent({ name: "desk", model, tools: [lookUp, refund], systemPrompt, store });
}

// A session of last week. A person approved the refund.
const prompt = "Look the order up before anything else.";
const store = createMemoryStore();
const desk = createDesk(prompt, store);
const waiting = await desk.run("Please refund order 7.", { sessionId: "customer-7" });
assert(waiting.status === "awaiting_human");
for (const { callKey } of waiting.approvals) await desk.session("customer-7").answer(callKey, { type: "approve" });
await desk.session("customer-7").resume();

// It becomes a case, in which the customer has another name.
const made = await createCase(store, "customer-7", { hide: ["customer"] });
assert(!JSON.stringify(made).includes("Ada"));

// The present prompt and a shorter one, side by side.
const report = await evaluate({
  name: "desk",
  agent: { now: createDesk(prompt), shorter: createDesk("Refund what people ask for.") },
  cases: [made],
  judges: [sameEnd(), inRecord(), sameCalls(), calls("look_up"), never("delete_account")],
});
console.log(formatReport(report));
assert.equal(report.variants.now?.passed, 1);
assert.equal(report.variants.shorter?.passed, 0);
assert.equal(toExitCode(report), 5);
assert.equal(refunds, 1, "only the refund of last week");

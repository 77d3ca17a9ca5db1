/**
 * Budgets: each ends the run with its own reason, and the session can go on. The costs come from your own price
 * table.
 */
import assert from "node:assert/strict";
import { createAgent, defineTool, type PriceTable } from "pawl";
import { priceLists } from "pawl/models";
import { createScriptedModel, type ScriptedStep } from "pawl/testing";

for (const { provider, asOf, source } of priceLists) console.log(`${provider}: as of ${asOf}, ${source}`);

/** A cent for each step: dollars for a million tokens. */
const prices: PriceTable = { scripted: { input: 5, output: 50, cacheRead: 0.5 } };
const usage = { inputTokens: 1_000, outputTokens: 100 };

const count = defineTool({
  name: "count",
  description: "Counts something.",
  input: { type: "object" },
  readOnly: true,
  execute: () => "as many as before",
});

/** Works for ever, with another input each time. */
const endless = createScriptedModel(
  ({ modelCallIndex }): ScriptedStep => ({ calls: [{ name: "count", input: { modelCallIndex } }], usage }),
);
const agent = createAgent({ model: endless, tools: [count], limits: { maxCostUsd: 0.05 }, usage: { prices } });

const stopped = await agent.run("Count everything", { sessionId: "counting" });
console.log(stopped.text, stopped.usage);
assert.equal(stopped.status === "failed" && stopped.reason, "max_cost");
assert.equal(stopped.steps, 5);
assert.equal(stopped.usage.costUsd?.toFixed(2), "0.05");

// The session can still be used.
const frugal = agent.with({ model: createScriptedModel([{ text: "I counted five times.", usage }]) });
const ended = await frugal.run("Then sum up", { sessionId: "counting" });
assert.equal(ended.text, "I counted five times.");

// If a model keeps asking for the same call, it is told once; then the run stops.
const stuck = createScriptedModel(() => ({ calls: [{ name: "count", input: {} }], usage }));
const repeated = await agent.with({ model: stuck, limits: {} }).run("Count");
assert.equal(repeated.status === "failed" && repeated.reason, "repeated_call");
assert.equal(repeated.steps, 4);

// A model without a price has no cost, and its cost cannot be limited.
const unknown = agent.with({
  model: createScriptedModel([{ text: "Hi.", usage }], { id: "somebody/new" }),
  limits: {},
});
assert.equal((await unknown.run("Hello")).usage.costUsd, undefined);
await assert.rejects(unknown.run("Hello", { limits: { maxCostUsd: 1 } }), /somebody\/new has no price/);

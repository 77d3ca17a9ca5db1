/**
 * A model that is overloaded, a second that cannot be used, and a third that answers: retries and fallbacks,
 * printed as they happen.
 */
import assert from "node:assert/strict";
import { createAgent, type PublicEvent } from "pawl";
import { createScriptedModel } from "pawl/testing";

const busy = createScriptedModel(() => ({ error: { kind: "overloaded", message: "Try again later." } }), {
  id: "busy",
});
const unpaid = createScriptedModel([{ error: { kind: "quota", message: "There is no credit left." } }], {
  id: "unpaid",
});
const spare = createScriptedModel([{ text: "A pawl lets a ratchet turn only forward." }], { id: "spare" });

const agent = createAgent({
  model: busy,
  fallbacks: [unpaid, { model: spare, timeouts: { firstChunkMs: 600_000 } }],
  retry: { maxRetries: 2, baseDelayMs: 5 },
});

const failed: Extract<PublicEvent, { type: "attempt_failed" }>[] = [];
const run = agent.runStream("What is a pawl?");
for await (const item of run) {
  if (item.type !== "attempt_failed") continue;
  failed.push(item);
  console.log(`${item.model}, attempt ${item.attempt}: ${item.failure.kind}, then ${item.next}`);
}

const result = await run.result;
console.log(result.text);
assert.equal(result.status, "completed");
assert.deepEqual(
  failed.map(({ model, next }) => [model, next]),
  [
    ["busy", "retry"],
    ["busy", "retry"],
    ["busy", "fallback"],
    ["unpaid", "fallback"],
  ],
);

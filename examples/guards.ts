/**
 * A guard beside the model: it ends an answer that tells a secret, and nobody gets the answer.
 */
import assert from "node:assert/strict";
import { createAgent, createMemoryStore, guard } from "pawl";
import { createScriptedModel } from "pawl/testing";

const secret = "heron";
const agent = createAgent({
  model: createScriptedModel([{ text: `The code is ${secret}.` }, { text: "I may not tell the code." }]),
  hooks: [
    guard({
      name: "no secrets",
      output: ({ text }) => (text.includes(secret) ? { trip: "The answer tells a secret." } : undefined),
      hold: true,
    }),
  ],
  store: createMemoryStore(),
});

const seen: string[] = [];
const stream = agent.runStream("What is the code?", { sessionId: "safe" });
for await (const item of stream) seen.push(JSON.stringify(item));
const refused = await stream.result;
console.log(refused.text);
assert.ok(refused.status === "failed" && refused.reason === "output_refused");
assert.ok(!seen.join().includes(secret));

const result = await agent.run("And in general?", { sessionId: "safe" });
console.log(result.text);
assert.equal(result.status, "completed");

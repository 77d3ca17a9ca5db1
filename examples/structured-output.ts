/**
 * An answer as data: parsed, checked by a schema, and typed. An answer that does not fit is sent back once.
 */
import assert from "node:assert/strict";
import { createAgent, defineTool } from "pawl";
import { createScriptedModel } from "pawl/testing";
import { z } from "zod";

const weather = z.object({
  city: z.string(),
  degrees: z.number(),
  measuredAt: z.string().transform((text) => new Date(text)),
});

const look = defineTool({
  name: "look_up_weather",
  description: "The weather of a city.",
  input: z.object({ city: z.string() }),
  readOnly: true,
  execute: ({ city }) => `${city}: -3 degrees, 2026-11-22T08:00:00Z`,
});

const model = createScriptedModel([
  { calls: [{ name: "look_up_weather", input: { city: "Oslo" } }] },
  { text: "It is minus three degrees in Oslo." },
  { text: '{ "city": "Oslo", "degrees": -3, "measuredAt": "2026-11-22T08:00:00Z" }' },
]);
const agent = createAgent({ model, tools: [look] });

const result = await agent.run("How cold is it in Oslo?", { output: weather });
assert(result.status === "completed");
console.log(result.output);
assert.equal(result.output.degrees, -3);
assert.equal(result.output.measuredAt.getUTCHours(), 8);

// Each request asked for the provider's JSON mode. The answer without JSON was sent back, with the error.
assert(model.requests.every((request) => request.responseFormat?.type === "json"));
assert.match(JSON.stringify(model.requests[2]?.messages.at(-1)), /it is not JSON/);

// Twice wrong ends the run, with the raw text.
const stubborn = createScriptedModel(() => ({ text: "I would rather not say." }));
const failed = await agent.with({ model: stubborn, tools: [] }).run("How cold is it?", { output: weather });
assert(failed.status === "failed");
assert.equal(failed.reason, "invalid_output");
assert.equal(failed.text, "I would rather not say.");

// While the answer is written, the stream has what can be said of it so far.
const slow = createScriptedModel([{ text: '{ "city": "Oslo", "degrees": -3, "measuredAt": "2026-11-22T08:00:00Z" }' }]);
const stream = agent.with({ model: slow, tools: [] }).runStream("How cold is it in Oslo?", { output: weather });
let latest: { readonly city?: string; readonly degrees?: number } = {};
for await (const item of stream) if (item.type === "partial_output") latest = item.value;
assert.deepEqual([latest.city, latest.degrees], ["Oslo", -3]);

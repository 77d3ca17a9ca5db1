/**
 * Traces: what a run did and how long each part took, live, and later from its log.
 *
 * With OpenTelemetry, give `createOpenTelemetryObserver()` of `pawl/protocols/opentelemetry` to `observers` instead.
 */
import assert from "node:assert/strict";
import { createAgent, createMemoryStore, createRedaction, defineTool } from "pawl";
import { type TraceRecord, traceSession } from "pawl/inspect";
import { createScriptedModel } from "pawl/testing";

const weather = defineTool({
  name: "weather",
  description: "Tells the weather in a city.",
  input: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
  readOnly: true,
  execute: ({ city }) => `Sunny in ${String(city)}.`,
});
const model = createScriptedModel([
  { calls: [{ name: "weather", input: { city: "Lisbon" } }], usage: { inputTokens: 40, outputTokens: 12 } },
  { error: { kind: "overloaded", message: "Try again later." } },
  { text: "It is sunny.", usage: { inputTokens: 70, outputTokens: 5 } },
]);

const store = createMemoryStore();
const seen: TraceRecord[] = [];
const agent = createAgent({
  model,
  tools: [weather],
  store,
  retry: { baseDelayMs: 1 },
  redact: createRedaction({ values: ["hunter2-hunter2"] }),
  observers: [{ onTrace: (record) => seen.push(record) }],
});
await agent.run("How is the weather in Lisbon? My password is hunter2-hunter2.", { sessionId: "s" });

for (const record of seen) {
  if (record.type === "run_started") console.log(`asked: ${record.input}`);
  if (record.type !== "step") continue;
  for (const { model: name, attempt, durationMs, failure } of record.attempts)
    console.log(
      `step ${record.modelCallIndex}: ${name}, attempt ${attempt}: ${durationMs} ms ${failure?.kind ?? "ok"}`,
    );
  for (const { name, outcome, ran } of record.calls)
    console.log(`step ${record.modelCallIndex}: ${name}: ${ran?.durationMs} ms ${outcome}`);
}

assert.deepEqual(
  seen.map((record) => record.type),
  ["run_started", "step", "step", "run_finished"],
);
assert.ok(!JSON.stringify(seen).includes("hunter2"));

// The log gives the same trace at any time, in any process.
const later = await traceSession(store, "s", { redact: createRedaction({ values: ["hunter2-hunter2"] }) });
assert.deepEqual(later, seen);

/**
 * Stop conditions: a run ends between two steps as soon as it has what it was started for, and another process decides
 * alike.
 */
import assert from "node:assert/strict";
import { createAgent, createMemoryStore, defineTool, stepCount, textMatches, toolCalled } from "pawl";
import { createScriptedModel } from "pawl/testing";

const seats: string[] = [];
let dies = false;

const search = defineTool({
  name: "search",
  description: "Finds tables.",
  input: { type: "object" },
  readOnly: true,
  execute: () => (dies ? new Promise<never>(() => {}) : "Two tables are free."),
});
const book = defineTool({
  name: "book",
  description: "Books a table.",
  input: { type: "object" },
  execute: () => seats.push("by the window"),
});

/** Searches in each step. It books in the third one, and would go on for ever. */
const keen = createScriptedModel(({ modelCallIndex }) => ({
  text: modelCallIndex === 3 ? "I book the table by the window." : `Search ${modelCallIndex}.`,
  calls: [{ name: modelCallIndex === 3 ? "book" : "search", input: { modelCallIndex } }],
}));

// Stop at a tool's result: the model is not asked to say anything about it.
const store = createMemoryStore();
const agent = createAgent({ model: keen, tools: [search, book], store, stopWhen: [toolCalled("book"), stepCount(10)] });
const booked = await agent.run("Book a table");
console.log(booked.status === "completed" && booked.condition, "-", booked.text);
assert.equal(booked.status === "completed" && booked.reason, "stop_condition");
assert.equal(booked.text, "I book the table by the window.");
assert.equal(booked.steps, 3);
assert.deepEqual(seats, ["by the window"]);

// The conditions of a run replace those of its agent.
const early = await agent.run("Book a table", { stopWhen: textMatches(/search 2/i) });
assert.equal(early.steps, 2);

// A function sees the run after each step.
const frugal = await agent.run("Book a table", { stopWhen: ({ steps, calls }) => steps > 1 && calls.length > 0 });
assert.equal(frugal.status === "completed" && frugal.condition, "function 1");

// The log keeps the conditions of a run: a process whose agent has none carries the run on, and decides alike.
dies = true;
const left = agent.runStream("Book a table", { sessionId: "left", stopWhen: stepCount(2) });
for await (const item of left) if (item.type === "tool_call") break;
await agent.shutdown({ graceMs: 0 });
assert.equal((await left.result).status, "interrupted");
dies = false;
const other = createAgent({ model: keen, tools: [search, book], store });
const result = await other.session("left").resume();
assert.equal(result.status === "completed" && result.condition, "stepCount(2)");
assert.equal(result.steps, 2);

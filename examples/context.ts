/**
 * A long session with a small context window. Pawl sums it up on the way and keeps the decisions; its log loses
 * nothing.
 */
import assert from "node:assert/strict";
import { createAgent, createMemoryStore, defineTool } from "pawl";
import { createScriptedModel } from "pawl/testing";

const read = defineTool({
  name: "read",
  description: "Reads a chapter.",
  input: { type: "object", properties: { chapter: { type: "number" } } },
  readOnly: true,
  execute: () => "It was a dark and stormy night. ".repeat(30),
});

const reader = createScriptedModel(({ modelCallIndex: chapter }) =>
  chapter <= 20
    ? { calls: [{ name: "read", input: { chapter } }], usage: {} }
    : { text: "The gardener did it.", usage: {} },
);
const summarizer = createScriptedModel(() => ({
  text: "## Keep\n- Find out who did it.\n\n## Summary\nMany stormy nights so far.",
}));

const store = createMemoryStore();
const agent = createAgent({
  model: reader,
  tools: [read],
  store,
  compaction: { contextWindow: 4_000, model: summarizer },
  onCompacted: ({ tokensBefore, tokensAfter }) =>
    console.log(`Summed up: ${tokensBefore} tokens are now ${tokensAfter}.`),
});

const result = await agent.run("Read the book. Who did it?", { sessionId: "book" });
assert.equal(result.text, "The gardener did it.");

const log = await store.read("book");
const compactions = log.filter(({ event }) => event.type === "compacted");
assert.ok(compactions.length > 1);
assert.equal(log.filter(({ event }) => event.type === "tool_finished").length, 20);
const longest = Math.max(...reader.requests.map(({ messages }) => messages.length));
assert.ok(longest < 30);
console.log(`${result.steps} steps, ${compactions.length} compactions, at most ${longest} messages in a request.`);

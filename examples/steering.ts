/**
 * Talking to an agent while it works: a steer goes in before the next model call, and no running call is lost.
 */
import assert from "node:assert/strict";
import { createAgent, defineTool } from "pawl";
import { createScriptedModel } from "pawl/testing";

const model = createScriptedModel([
  { text: "I will look at every chapter.", calls: [{ name: "read_chapter", input: { number: 1 } }] },
  { text: "Only chapter 1, then: it is about ratchets." },
]);

const readChapter = defineTool({
  name: "read_chapter",
  description: "Reads a chapter.",
  input: { type: "object", properties: { number: { type: "number" } }, required: ["number"] },
  readOnly: true,
  async execute(_, { sessionId }) {
    await agent.session(sessionId).steer("Chapter 1 is enough.");
    return "A pawl lets a ratchet turn only forward.";
  },
});
const agent = createAgent({ model, tools: [readChapter] });

const result = await agent.run("Sum up the book.");
console.log(result.text);
assert.equal(result.status, "completed");
const seen = model.requests[1]?.messages.map((message) => message.role);
assert.deepEqual(seen, ["user", "assistant", "tool", "user"]);

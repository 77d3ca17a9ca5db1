/**
 * A session that begins with a conversation from elsewhere: messages of the AI SDK, as they are.
 */
import assert from "node:assert/strict";
import { createAgent, createMemoryStore, type Message } from "pawl";
import { createScriptedModel } from "pawl/testing";

/** What a page has kept of a conversation: `UIMessage`s of the AI SDK. */
const page = [
  { id: "1", role: "user", parts: [{ type: "text", text: "Will it rain tomorrow?" }] },
  {
    id: "2",
    role: "assistant",
    parts: [
      { type: "step-start" },
      { type: "tool-forecast", toolCallId: "c1", state: "output-available", input: { day: 1 }, output: "dry" },
      { type: "step-start" },
      { type: "text", text: "No. It will be dry." },
    ],
  },
];

const store = createMemoryStore();
const model = createScriptedModel(({ messages }) => ({ text: `I know ${messages.length} messages.` }));
const agent = createAgent({ model, store });

const result = await agent.run("And the day after?", { sessionId: "weather", history: page });
console.log(result.text);
// The question, the call, its result, the answer, and the new question.
assert.equal(result.text, "I know 5 messages.");
const roles = (messages: readonly Message[]) => messages.map(({ role }) => role).join(" ");
assert.equal(roles(await agent.session("weather").messages()), "user assistant tool assistant user assistant");

// Entered once: the next run goes on from there, and the session takes no other history.
assert.equal((await agent.run("Thanks", { sessionId: "weather" })).text, "I know 7 messages.");
await assert.rejects(agent.run("Again", { sessionId: "weather", history: page }), /already exists/);

// Without a run: to move stored conversations.
const moved = agent.session("moved");
await moved.seed([
  { role: "user", content: "Will it rain tomorrow?" },
  { role: "assistant", content: "No. It will be dry." },
]);
assert.equal(await moved.result(), null);
assert.equal(roles(await moved.messages()), "user assistant");

// What is no whole conversation is refused, with the message and the reason.
const half = {
  id: "3",
  role: "assistant",
  parts: [{ ...page[1]?.parts[1], type: "tool-forecast", state: "input-available" }],
};
await assert.rejects(agent.run("Go on", { history: [...page, half] }), /history\[2\]: a call without a result/);
const whole = await agent.run("Go on", { history: [...page, half], dropOpenCalls: true });
assert.equal(whole.text, "I know 5 messages.");

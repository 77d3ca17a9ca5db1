/**
 * The model asks the person whom it works for, with `askPerson()`. The run waits without a process; the answer comes from
 * another one, and only an answer of the list fits.
 */
import assert from "node:assert/strict";
import { createAgent, createClient } from "pawl";
import { openSqliteStore } from "pawl/sqlite";
import { createScriptedModel } from "pawl/testing";
import { askPerson } from "pawl/tools";

const store = await openSqliteStore({ path: "sessions.db" });
const createPlanner = () =>
  createAgent({
    model: createScriptedModel(({ messages }) => {
      const answer = JSON.stringify(messages.at(-1));
      if (answer.includes("by train")) return { text: "Booked: the train at nine." };
      return {
        calls: [{ name: "ask_person", input: { question: "How will you travel?", options: ["by train", "by plane"] } }],
      };
    }),
    tools: [askPerson()],
    store,
  });

// The first process asks, and may end: nothing waits in memory.
const planner = createPlanner();
const waiting = await planner.run("Plan my trip to Graz.", { sessionId: "trip" });
assert.equal(waiting.status, "awaiting_human");
await planner.shutdown();

// Any process that opens the store can answer: a web page, a chat, the command line.
const person = createClient({ store }).session("trip");
const [question] = await person.pendingApprovals();
assert.ok(question?.why === "tool");
console.log(question.question, question.schema?.enum);
await assert.rejects(person.answer(question.callKey, { type: "reply", value: "on foot" }), /does not match/);
await person.answer(question.callKey, { type: "reply", value: "by train" }, { by: "ada" });

// The next process goes on. The log knows who said what.
const result = await createPlanner().session("trip").resume();
assert.equal(result.status, "completed");
assert.equal(result.text, "Booked: the train at nine.");
console.log(result.text);
await store.close();

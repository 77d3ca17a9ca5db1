/**
 * What a tool may do beside giving a result: show how far it is, be tried again when it fails, and be called by a name
 * that is nearly its own.
 */
import assert from "node:assert/strict";
import { createAgent, defineTool } from "pawl";
import { createScriptedModel } from "pawl/testing";

const model = createScriptedModel([
  {
    calls: [
      { name: "count_words", input: {} },
      { name: "FetchTitle", input: {} },
    ],
  },
  { text: "Three pages, 9 words." },
]);

const pages = ["one two three", "four five", "six seven eight nine"];

/** A generator: what it yields is shown while the call runs, and what it returns is the result. */
const countWords = defineTool({
  name: "count_words",
  description: "Counts the words of all pages.",
  input: { type: "object", properties: {} },
  readOnly: true,
  async *execute() {
    let words = 0;
    for (const [index, page] of pages.entries()) {
      words += page.split(" ").length;
      yield `page ${index + 1} of ${pages.length}: ${words} words so far`;
    }
    return { pages: pages.length, words };
  },
});

/** Fails now and then. It changes nothing, so it may be tried again. */
let requests = 0;
const fetchTitle = defineTool({
  name: "fetch_title",
  description: "Gets the title.",
  input: { type: "object", properties: {} },
  readOnly: true,
  retry: { attempts: 3, backoff: { baseMs: 5 } },
  execute() {
    requests += 1;
    if (requests < 3) throw new Error("503 Service Unavailable");
    return "On counting";
  },
});

const agent = createAgent({ model, tools: [countWords, fetchTitle] });
const shown: unknown[] = [];
const mended: string[] = [];
const run = agent.runStream("How many words are there?");
for await (const item of run) {
  if (item.type === "preliminary") shown.push(item.output);
  if (item.type === "tool_call" && item.repair !== undefined) {
    console.log(`${item.repair.problem}: ${item.name} is called`);
    mended.push(item.name);
  }
  if (item.type === "tool_failed")
    console.log(`${item.name} failed: ${item.fault.message}; again in ${item.retryInMs} ms`);
  if (item.type === "tool_result") console.log(`${item.name} gave`, item.output);
}
assert.deepEqual(shown.at(-1), { type: "text", text: "page 3 of 3: 9 words so far" });
assert.equal((await run.result).text, "Three pages, 9 words.");
// The model saw the result, and nothing of what was shown before.
const [result] = model.requests[1]?.messages.at(-1)?.parts ?? [];
assert.ok(result?.type === "tool_result");
assert.deepEqual(result.output, { type: "json", value: { pages: 3, words: 9 } });
// The model wrote "FetchTitle", and fetch_title was meant. It gave its title at the third try.
assert.deepEqual(mended, ["fetch_title"]);
assert.equal(requests, 3);

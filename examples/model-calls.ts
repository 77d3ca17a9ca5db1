/**
 * One model call: settings, a model by name, tools and messages are chosen for a phase of the work, and the log can say
 * what each call was sent.
 */
import assert from "node:assert/strict";
import { createAgent, createMemoryStore, defineTool, type Hook } from "pawl";
import { modelRequests, traceSession } from "pawl/inspect";
import { createScriptedModel } from "pawl/testing";

const input = { type: "object", properties: { page: { type: "number" } } } as const;
const read = defineTool({
  name: "read",
  description: "Reads a page.",
  input,
  readOnly: true,
  execute: () => "A page of the report. ".repeat(200),
});
const write = defineTool({ name: "write", description: "Writes the summary.", input, execute: () => "Written." });

/** Reads two pages with the smart model, and then writes with the fast one, which is shown the pages cut short. */
const phases: Hook = {
  name: "phases",
  beforeLLMCall({ modelCallIndex, messages }) {
    if (modelCallIndex <= 2) return { model: "smart", activeTools: ["read"], settings: { reasoning: "high" } };
    return {
      model: "fast",
      activeTools: ["write"],
      settings: { temperature: 0.2 },
      messages: messages.map((message) =>
        message.role === "tool"
          ? {
              ...message,
              parts: message.parts.map((part) => ({ ...part, output: { type: "text", text: "(a page)" } })),
            }
          : message,
      ),
    };
  },
};

const call = (name: string, page: number) => ({ calls: [{ name, input: { page } }] });
const smart = createScriptedModel([call("read", 1), call("read", 2)], { id: "smart" });
const fast = createScriptedModel([call("write", 1), { text: "Done." }], { id: "fast" });
const store = createMemoryStore();
const agent = createAgent({
  model: fast,
  models: { fast, smart },
  settings: { temperature: 0, maxOutputTokens: 4_000 },
  tools: [read, write],
  hooks: [phases],
  store,
});

const result = await agent.run("Summarize the report", { sessionId: "report" });
console.log(result.text);
assert.equal(result.text, "Done.");

// Each phase had its model, its tools and its settings.
assert.deepEqual(
  smart.requests.map(({ tools, reasoning, temperature }) => [tools.map(({ name }) => name), reasoning, temperature]),
  [
    [["read"], "high", 0],
    [["read"], "high", 0],
  ],
);
const [written] = fast.requests;
assert.deepEqual(
  written?.tools.map(({ name }) => name),
  ["write"],
);
assert.equal(written?.temperature, 0.2);
assert.equal(written?.maxOutputTokens, 4_000);
assert.ok(!JSON.stringify(written?.messages).includes("A page of the report."));

// The log says what each call was sent, and repeats none of it.
const rebuilt = [];
for await (const request of modelRequests(store, "report")) rebuilt.push(request);
assert.deepEqual(rebuilt, [...smart.requests, ...fast.requests]);

// The trace says what a provider's cache could keep of the call before.
for (const step of await traceSession(store, "report"))
  if (step.type === "step") console.log(step.modelCallIndex, step.attempts[0]?.model, step.reused);

/**
 * Models and tools of the AI SDK, unchanged.
 */
import assert from "node:assert/strict";
import type { LanguageModelV3StreamPart } from "@ai-sdk/provider";
import { tool } from "ai";
import { MockLanguageModelV3, simulateReadableStream } from "ai/test";
import { createAgent } from "pawl";
import { z } from "zod";

const weather = tool({
  description: "Tells the temperature in a city.",
  inputSchema: z.object({ city: z.string() }),
  execute: async ({ city }) => ({ city, celsius: 21 }),
});

/** Replaces `anthropic("…")` or `openai("…")`, so that the example needs no key. */
let calls = 0;
const usage = {
  inputTokens: { total: 10, noCache: 10, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: 5, text: 5, reasoning: undefined },
};
const answers: LanguageModelV3StreamPart[][] = [
  [
    { type: "tool-call", toolCallId: "1", toolName: "weather", input: '{"city":"Oslo"}' },
    { type: "finish", finishReason: { unified: "tool-calls", raw: undefined }, usage },
  ],
  [
    { type: "text-start", id: "t" },
    { type: "text-delta", id: "t", delta: "It is 21 °C in Oslo." },
    { type: "text-end", id: "t" },
    { type: "finish", finishReason: { unified: "stop", raw: undefined }, usage },
  ],
];
const model = new MockLanguageModelV3({
  doStream: async () => {
    const chunks = answers[calls] ?? [];
    calls += 1;
    return { stream: simulateReadableStream({ chunks }) };
  },
});

const agent = createAgent({ model, tools: { weather }, systemPrompt: "You tell the weather." });
const run = agent.runStream("How warm is it in Oslo?");
for await (const item of run) {
  if (item.type === "tool_call") console.log("→", item.name, JSON.stringify(item.input));
  if (item.type === "delta" && item.delta.kind === "text-delta") process.stdout.write(item.delta.text);
}
console.log();
const result = await run.result;
assert.equal(result.text, "It is 21 °C in Oslo.");

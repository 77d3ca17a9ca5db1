/** Where a provider's cache broke, as the page tells it from traces. */
import { expect, test } from "vitest";
import { createAgent, createMemoryStore, defineTool, traceSession } from "../../src/index.js";
import { breakText, cacheBreakOf } from "../../src/inspector/state/cache-break.js";
import { createScriptedModel } from "../../src/testing/index.js";

const look = defineTool({ name: "look", description: "Looks.", input: { type: "object" }, execute: () => "seen" });

test("the cache breaks at the first part that differs, and not where a request only adds", async () => {
  const store = createMemoryStore();
  const usage = { inputTokens: 20, outputTokens: 5, cacheReadTokens: 18, cacheWriteTokens: 2 };
  const looking = { calls: [{ name: "look" }], usage };
  const model = createScriptedModel([looking, looking, looking, { text: "Done.", usage }]);
  let step = 0;
  const agent = createAgent({
    store,
    model,
    tools: [look],
    limits: { onRepeatedCall: "ignore" },
    hooks: [
      {
        name: "changes",
        beforeLLMCall: ({ messages }) => {
          step += 1;
          if (step === 3) return { messages: [...messages.slice(0, 1), ...messages.slice(3)] };
          return step === 4 ? { systemPrompt: "Another prompt." } : undefined;
        },
      },
    ],
  });
  await agent.run("Go.", { sessionId: "s" });
  const steps = (await traceSession(store, "s")).filter((record) => record.type === "step");
  const breaks = steps.map((one, at) => cacheBreakOf(one, steps[at - 1]));
  expect(breaks[0]).toBeNull();
  expect(breaks[1]).toBeNull();
  expect(breaks[2]).toEqual({ what: "message", message: 2 });
  expect(breaks[3]).not.toBeNull();
  expect(breaks.flatMap((one) => (one === null ? [] : [breakText(one)]))[0]).toBe("message 2");
  // A provider that reports no cache has lost nothing.
  const silent = steps.map((one) => ({ ...one, attempts: one.attempts.map(({ usage: _, ...attempt }) => attempt) }));
  expect(silent.map((one, at) => cacheBreakOf(one, silent[at - 1]))).toEqual([null, null, null, null]);
});

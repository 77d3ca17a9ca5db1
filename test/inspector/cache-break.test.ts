/** What the page says of a step that could not read the step before from its provider's cache. */
import { expect, test } from "vitest";
import { createAgent, createMemoryStore, defineTool } from "../../src/index.js";
import { traceSession } from "../../src/inspect.js";
import { formatCacheBreak } from "../../src/inspector/state/cache-break.js";
import { createScriptedModel } from "../../src/testing/index.js";
import { startTestServer } from "../server/rig.js";
import { verifies } from "../verifies.js";

const look = defineTool({ name: "look", description: "Looks.", input: { type: "object" }, execute: () => "seen" });

/** The sentences of a session whose third request drops messages, and whose fourth has another prompt. */
async function sentences(id: string, promptCache: "auto" | "off", isReported = true) {
  const store = createMemoryStore();
  const used = (read: number, written: number) => ({
    usage: {
      inputTokens: 100_000,
      outputTokens: 5,
      ...(isReported ? { cacheReadTokens: read, cacheWriteTokens: written } : {}),
    },
  });
  const looking = { calls: [{ name: "look" }] };
  const script = [
    { ...looking, ...used(0, 90_000) },
    { ...looking, ...used(90_000, 10_000) },
    { ...looking, ...used(30_000, 70_000) },
    { text: "Done.", ...used(0, 100_000) },
  ];
  let step = 0;
  const agent = createAgent({
    store,
    promptCache,
    model: createScriptedModel(script, { id, contextWindow: 1_000_000 }),
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
  const { ask } = await startTestServer({ store });
  const { records } = (await ask("GET", "/v1/sessions/s/trace?type=step")).json;
  const stored = (await traceSession(store, "s")).filter(({ type }) => type === "step");
  expect(records.map(({ cacheLoss: _, ...record }: { readonly cacheLoss?: unknown }) => record)).toEqual(
    JSON.parse(JSON.stringify(stored)),
  );
  return records.map(formatCacheBreak);
}

test(
  "a break of the cache is named, with the tokens that were charged again and their price",
  verifies("COST-2"),
  async () => {
    // Written for $2.50 a million instead of read for $0.20.
    expect(await sentences("anthropic/claude-sonnet-5", "auto")).toEqual([
      null,
      null,
      "The cache broke: earlier messages changed, from message 2 on. 70,000 tokens were charged again, for about $0.16.",
      "The cache broke: the system prompt changed. 100,000 tokens were charged again, for about $0.23.",
    ]);
  },
);

test("the price is left out if it is unknown, and all of it if no cache was asked for or none is reported", async () => {
  expect((await sentences("own/model", "auto"))[3]).toBe(
    "The cache broke: the system prompt changed. 100,000 tokens were charged again.",
  );
  expect(await sentences("anthropic/claude-sonnet-5", "off")).toEqual([null, null, null, null]);
  expect(await sentences("anthropic/claude-sonnet-5", "auto", false)).toEqual([null, null, null, null]);
});

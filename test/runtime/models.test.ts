/**
 * Which models an agent takes, and what it asks of them.
 */
import { MockLanguageModelV3, simulateReadableStream } from "ai/test";
import { describe, expect, test } from "vitest";
import { createAgent, type Model } from "../../src/index.js";
import { createModelRegistry } from "../../src/models/index.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import { collect, createEchoTool, filterEventsOfType } from "../support/agents.js";
import { createWatchedClock } from "../support/clock.js";
import { verifies } from "../verifies.js";

/** A model of the AI SDK that says one thing. */
function aiSdkModel(text: string): MockLanguageModelV3 {
  return new MockLanguageModelV3({
    provider: "mock.chat",
    modelId: "one",
    doStream: async () => ({
      stream: simulateReadableStream({
        initialDelayInMs: null,
        chunkDelayInMs: null,
        chunks: [
          { type: "stream-start", warnings: [] },
          { type: "text-start", id: "1" },
          { type: "text-delta", id: "1", delta: text },
          { type: "text-end", id: "1" },
          {
            type: "finish",
            finishReason: { unified: "stop", raw: "stop" },
            usage: {
              inputTokens: { total: 3, noCache: 3, cacheRead: undefined, cacheWrite: undefined },
              outputTokens: { total: 2, text: 2, reasoning: undefined },
            },
          },
        ],
      }),
    }),
  });
}

describe("a model", () => {
  test("may be one of the AI SDK, of specification v3 or v4", verifies("LOOP-9"), async () => {
    const v3 = aiSdkModel("From v3.");
    expect(await createAgent({ model: v3 }).run("Go", { sessionId: "s" })).toMatchObject({
      text: "From v3.",
      usage: { inputTokens: 3, outputTokens: 2 },
    });
    const v4 = Object.assign(Object.create(aiSdkModel("From v4.")), { specificationVersion: "v4" });
    expect(await createAgent({ model: v4 }).run("Go")).toMatchObject({ text: "From v4." });
    const v2 = Object.assign(Object.create(v3), { specificationVersion: "v2" });
    expect(() => createAgent({ model: v2 })).toThrow(/v2/);
  });

  test("may be an object of one's own", verifies("LOOP-9"), async () => {
    const own: Model = {
      id: "own/model",
      async *stream(request) {
        yield { kind: "text-delta", id: "1", text: `${request.messages.length} message(s)` };
        yield { kind: "done", finishReason: { unified: "stop" }, usage: {} };
      },
    };
    const agent = createAgent({ model: own });
    const stream = agent.runStream("Go");
    const items = await collect(stream);
    expect(await stream.result).toMatchObject({ text: "1 message(s)" });
    expect(filterEventsOfType(items, "step_finished")).toMatchObject([{ model: "own/model" }]);
    expect(filterEventsOfType(items, "session_created")).toMatchObject([{ model: "own/model" }]);
  });

  test("may be chosen by name from a registry", verifies("LOOP-9"), async () => {
    const registry = createModelRegistry({ providers: { mine: (modelId) => aiSdkModel(`I am ${modelId}.`) } });
    const agent = createAgent({ model: await registry.resolve("mine/small") });
    expect(await agent.run("Go")).toMatchObject({ text: "I am small." });
  });
});

describe("what failed", () => {
  const limited = { error: { kind: "rate_limit", message: "slow down" }, usage: { inputTokens: 7 } } as const;

  test(
    "is tried again under the same index, after doubling waits, and its usage counts",
    verifies("RTRY-2", "RTRY-3"),
    async () => {
      const clock = createWatchedClock();
      const echo = createEchoTool();
      const model = createScriptedModel([
        { calls: [{ name: "echo" }] },
        ...Array.from({ length: 5 }, () => limited),
        { text: "At last." },
      ]);
      const result = createAgent({ model, tools: [echo.tool], clock }).run("Go");
      let isOver = false;
      void result.finally(() => {
        isOver = true;
      });
      while (!isOver) await clock.advance(30_000);
      expect(await result).toMatchObject({
        text: "At last.",
        steps: 2,
        usage: { inputTokens: 55, outputTokens: 10, partial: true },
      });
      expect(model.requests.map(({ modelCallIndex, attempt }) => [modelCallIndex, attempt])).toEqual([
        [1, 1],
        ...[1, 2, 3, 4, 5, 6].map((attempt) => [2, attempt]),
      ]);
      expect(echo.inputs).toHaveLength(1);
      expect(clock.waits).toHaveLength(5);
      for (const [index, most] of [2_000, 4_000, 8_000, 16_000, 30_000].entries()) {
        expect(clock.waits[index]).toBeLessThanOrEqual(most);
        expect(clock.waits[index]).toBeGreaterThanOrEqual(most / 2);
      }
    },
  );

  test("is given up after five retries", verifies("RTRY-2"), async () => {
    const model = createScriptedModel(() => limited);
    const agent = createAgent({ model, retry: { baseDelayMs: 0 } });
    expect(await agent.run("Go")).toMatchObject({
      status: "failed",
      reason: "model_error",
      error: { code: "rate_limit" },
    });
    expect(model.requests).toHaveLength(6);
  });

  test("is decided on by a policy of one's own", verifies("RTRY-2"), async () => {
    const clock = createWatchedClock();
    const asked: unknown[] = [];
    const model = createScriptedModel([
      { error: { kind: "auth", message: "try me" } },
      { error: { kind: "network", message: "not me" } },
    ]);
    const agent = createAgent({
      model,
      clock,
      retry: {
        decide(failure, attempt, elapsedMs) {
          asked.push([failure.kind, attempt, elapsedMs]);
          return failure.kind === "auth" ? { retryInMs: 1_234 } : { giveUp: "enough" };
        },
      },
    });
    const result = agent.run("Go");
    await clock.waitFor(1_234);
    await clock.advance(1_234);
    expect(await result).toMatchObject({ status: "failed", reason: "model_error" });
    expect(asked).toEqual([
      ["auth", 1, 0],
      ["network", 2, 1_234],
    ]);
  });
});

test("one system prompt, first; the message goes back as it came", verifies("CTX-2", "CTX-10"), async () => {
  const metadata = { any: { signature: "abc" } };
  const deltas = [
    { kind: "reasoning-start", id: "r" },
    { kind: "reasoning-delta", id: "r", text: "Think." },
    { kind: "reasoning-end", id: "r", providerMetadata: metadata },
    { kind: "reasoning-start", id: "empty", providerMetadata: metadata },
    { kind: "reasoning-end", id: "empty" },
    { kind: "text-delta", id: "t", text: "Look:", providerMetadata: metadata },
    { kind: "source", id: "s", url: "https://example.com/", title: "A page" },
    { kind: "file", mediaType: "image/png", data: "AAAA" },
    { kind: "tool-call", id: "c", name: "echo", input: '{"a":1}', providerMetadata: metadata },
    { kind: "done", finishReason: { unified: "tool-calls" }, usage: {} },
  ] as const;
  const model = createScriptedModel([{ deltas }, { text: "Done." }]);
  const agent = createAgent({ model, tools: [createEchoTool().tool], systemPrompt: "Be brief." });
  await agent.run("Go");
  for (const request of model.requests) {
    expect(request.systemPrompt).toBe("Be brief.");
    expect(request.messages.every((message) => ["user", "assistant", "tool"].includes(message.role))).toBe(true);
  }
  expect(model.requests[1]?.messages[1]).toEqual({
    role: "assistant",
    parts: [
      { type: "reasoning", text: "Think.", providerMetadata: metadata },
      { type: "reasoning", text: "", providerMetadata: metadata },
      { type: "text", text: "Look:", providerMetadata: metadata },
      { type: "source", id: "s", url: "https://example.com/", title: "A page" },
      { type: "file", mediaType: "image/png", data: "AAAA" },
      { type: "tool_call", toolCallId: "c", name: "echo", input: { a: 1 }, providerMetadata: metadata },
    ],
  });
});

/**
 * The real provider packages against a server that speaks their wire formats.
 */
import { afterEach, describe, expect, test } from "vitest";
import { type Message, textOf, toolCallsOf } from "../../src/core/data/message.js";
import { fromAiSdk } from "../../src/models/ai-sdk/adapter.js";
import type { Model } from "../../src/ports/model.js";
import { createRetryPolicy } from "../../src/runtime/model/retry.js";
import { verifies } from "../verifies.js";
import {
  assembleMessage,
  collectDeltas,
  createRequest,
  createUserMessage,
  requireLastDelta,
  weatherTool,
} from "./collect.js";
import { type FailureName, type ProviderServer, type ScriptedReply, startProviderServer } from "./provider-server.js";
import { type RealProvider, readRequest, realProviders } from "./real-providers.js";

const apiKey = "sk-test-0123456789abcdef";
const servers: ProviderServer[] = [];

afterEach(async () => {
  for (const server of servers.splice(0)) await server.close();
});

async function start(
  provider: RealProvider,
  script: readonly ScriptedReply[],
): Promise<{ readonly model: Model; readonly server: ProviderServer }> {
  const server = await startProviderServer(provider.format, script);
  servers.push(server);
  const languageModel = provider.create({ baseURL: server.baseURL, apiKey });
  expect(languageModel.specificationVersion).toBe(provider.specification);
  return { model: fromAiSdk(languageModel, { providerOptions: provider.providerOptions, id: provider.id }), server };
}

const usage = { input: 120, output: 48, cached: 100, reasoning: 16 };

describe.each(realProviders)("$name", (provider) => {
  test("two steps with parallel calls", verifies("LOOP-9", "CTX-2", "CTX-10"), async () => {
    const { model, server } = await start(provider, [
      {
        type: "answer",
        reasoning: "Two cities, so two calls.",
        signature: "c2lnbmVk",
        text: "Let me look — één moment.",
        calls: [
          { name: "weather", input: { city: "Zürich" }, id: "call_a" },
          { name: "weather", input: { city: "北京" }, id: "call_b" },
        ],
        usage,
      },
      { type: "answer", text: "Sun in both. ☀️", usage },
    ]);
    const tools = [weatherTool];
    const systemPrompt = "You tell the weather.";
    const first = await collectDeltas(model, createRequest([createUserMessage("Weather?")], { tools, systemPrompt }));

    expect(first[0]?.kind).toBe("start");
    const message = assembleMessage(first);
    expect(textOf(message)).toBe("Let me look — één moment.");
    expect(message.parts.filter((part) => part.type === "reasoning").map((part) => part.text)).toEqual([
      "Two cities, so two calls.",
    ]);
    expect(toolCallsOf(message).map((call) => call.input)).toEqual([{ city: "Zürich" }, { city: "北京" }]);
    const done = requireLastDelta(first, "done");
    expect(done.finishReason.unified).toBe("tool-calls");
    expect(done.usage).toMatchObject({ inputTokens: 120, outputTokens: 48, cacheReadTokens: 100 });

    const [callA, callB] = toolCallsOf(message);
    const results: Message = {
      role: "tool",
      parts: [callA, callB].map((call, index) => ({
        type: "tool_result",
        toolCallId: call?.toolCallId ?? "",
        name: "weather",
        output: { type: "text", text: `sunny ${index}` },
      })),
    };
    const second = await collectDeltas(
      model,
      createRequest([createUserMessage("Weather?"), message, results], { tools, systemPrompt, modelCallIndex: 2 }),
    );
    expect(textOf(assembleMessage(second))).toBe("Sun in both. ☀️");
    expect(requireLastDelta(second, "done").finishReason.unified).toBe("stop");

    const said = readRequest(provider.format, server.requests[1]);
    expect(said.systems).toEqual([systemPrompt]);
    expect(said.systemAt).toBe(0);
    expect(said.tools).toEqual(["weather"]);
    expect(said.calls.map((call) => call.input)).toEqual([{ city: "Zürich" }, { city: "北京" }]);
    expect(said.results.map((result) => result.text)).toEqual(["sunny 0", "sunny 1"]);
    expect(said.results.map((result) => result.id)).toEqual(said.calls.map((call) => call.id));
    if (provider.format !== "openai-chat") expect(said.signatures).toEqual(["c2lnbmVk"]);
    expect(server.requests).toHaveLength(2);
  });

  test("the model that answered, as far as the provider says", async () => {
    const { model } = await start(provider, [{ type: "answer", text: "Hello." }]);
    const deltas = await collectDeltas(model, createRequest([createUserMessage("Hi")]));
    const named = provider.format === "google-generate-content" ? {} : { model: provider.modelId };
    expect(deltas[0]).toEqual({ kind: "start", ...named });
  });

  test("arguments are seen as they are written", async () => {
    const input = { city: "A town with a rather long name" };
    const { model } = await start(provider, [{ type: "answer", calls: [{ name: "weather", input }] }]);
    const deltas = await collectDeltas(model, createRequest([createUserMessage("Hi")], { tools: [weatherTool] }));
    const written = deltas.map((delta) => (delta.kind === "tool-input-delta" ? delta.text : "")).join("");
    expect(JSON.parse(written)).toEqual(input);
    expect(deltas.filter((delta) => delta.kind === "tool-input-start")).toMatchObject([{ name: "weather" }]);
    expect(toolCallsOf(assembleMessage(deltas))).toMatchObject([{ name: "weather", input }]);
  });

  test.each([
    ["length", "length"],
    ["content-filter", "content-filter"],
  ] as const)("stopped by %s", async (finish, unified) => {
    const { model } = await start(provider, [{ type: "answer", text: "And then", finish, usage }]);
    const done = requireLastDelta(await collectDeltas(model, createRequest([createUserMessage("Hi")])), "done");
    expect(done.finishReason.unified).toBe(unified);
    expect(done.finishReason.raw).toBeTypeOf("string");
  });

  const failures: readonly (readonly [FailureName, string])[] = [
    ["rate-limit", "rate_limit"],
    ["quota", "quota"],
    ["overflow", "context_overflow"],
    ["unauthorized", "auth"],
    ["overloaded", "overloaded"],
    ["server-error", "provider"],
    ["not-found", "invalid_request"],
    ["html", "provider"],
  ];
  test.each(failures)("%s is a failure of kind %s", verifies("RTRY-1"), async (failure, kind) => {
    const { model, server } = await start(provider, [{ type: "failure", failure }]);
    const deltas = await collectDeltas(model, createRequest([createUserMessage("Hi")]));
    const error = requireLastDelta(deltas, "error");
    expect(error.failure.kind).toBe(kind);
    expect(error.failure.statusCode).toBeGreaterThanOrEqual(400);
    expect(error.failure.message).not.toContain(apiKey);
    expect(error.failure.message).not.toMatch(/<[a-z!]|\n/i);
    // One call is one attempt: nothing below retries.
    expect(server.requests).toHaveLength(1);
  });

  test("Retry-After, in seconds and in milliseconds", verifies("RTRY-1"), async () => {
    const { model } = await start(provider, [
      { type: "failure", failure: "rate-limit", headers: { "retry-after": "7" } },
      { type: "failure", failure: "overloaded", headers: { "retry-after-ms": "250", "retry-after": "1" } },
    ]);
    const inSeconds = requireLastDelta(await collectDeltas(model, createRequest([createUserMessage("Hi")])), "error");
    expect(inSeconds.failure).toMatchObject({ kind: "rate_limit", retryAfterMs: 7_000 });
    const inMilliseconds = requireLastDelta(
      await collectDeltas(model, createRequest([createUserMessage("Hi")])),
      "error",
    );
    expect(inMilliseconds.failure).toMatchObject({ kind: "overloaded", retryAfterMs: 250 });
  });

  test.each(["reset", "cut", "cut-in-delta", "broken-json"] as const)(
    "a stream that breaks (%s) is a network failure after what was said",
    verifies("RTRY-6"),
    async (ending) => {
      const { model } = await start(provider, [
        { type: "answer", text: "A text of some length — which is never finished. Ünd weiter.", usage, ending },
        { type: "answer", text: "Whole." },
      ]);
      const deltas = await collectDeltas(model, createRequest([createUserMessage("Hi")]));
      expect(deltas.some((delta) => delta.kind === "text-delta")).toBe(true);
      expect(deltas.filter((delta) => delta.kind === "error" || delta.kind === "done")).toHaveLength(1);
      const { failure } = requireLastDelta(deltas, "error");
      expect(failure.kind).toBe("network");
      expect(failure.statusCode).toBeUndefined();
      expect(createRetryPolicy().decide(failure, 1, 0)).toHaveProperty("retryInMs");

      const again = await collectDeltas(model, createRequest([createUserMessage("Hi")], { attempt: 2 }));
      expect(textOf(assembleMessage(again))).toBe("Whole.");
    },
  );

  test("a call cut in the middle of its arguments does not end well", async () => {
    const input = { city: "Ürümqi, and a good deal more than that" };
    const { model } = await start(provider, [
      { type: "answer", calls: [{ name: "weather", input }], ending: "cut-in-delta" },
    ]);
    const deltas = await collectDeltas(model, createRequest([createUserMessage("Hi")], { tools: [weatherTool] }));
    expect(requireLastDelta(deltas, "error").failure.kind).toBe("network");
  });

  test("the provider's error inside a stream", verifies("RTRY-1"), async () => {
    const { model } = await start(provider, [{ type: "answer", text: "Some of the text", ending: "error-event" }]);
    const deltas = await collectDeltas(model, createRequest([createUserMessage("Hi")]));
    expect(deltas.filter((delta) => delta.kind === "error" || delta.kind === "done")).toHaveLength(1);
    const { failure } = requireLastDelta(deltas, "error");
    const overloaded = provider.format === "anthropic-messages" || provider.format === "google-generate-content";
    expect(failure.kind).toBe(overloaded ? "overloaded" : "provider");
    expect(failure.statusCode).toBeGreaterThanOrEqual(500);
  });

  test("an abort ends the stream quietly and the request", async () => {
    const { model, server } = await start(provider, [
      { type: "answer", text: "A text without an end", ending: "hang" },
    ]);
    const controller = new AbortController();
    const kinds: string[] = [];
    for await (const delta of model.stream(createRequest([createUserMessage("Hi")]), controller.signal)) {
      kinds.push(delta.kind);
      if (delta.kind === "text-delta") controller.abort();
    }
    expect(kinds).toContain("text-delta");
    expect(kinds).not.toContain("error");
    expect(kinds).not.toContain("done");
    expect(await server.requests[0]?.ended).toBe("left");
  });

  test("a consumer that leaves ends the request", async () => {
    const { model, server } = await start(provider, [
      { type: "answer", text: "A text without an end", ending: "hang" },
    ]);
    for await (const delta of model.stream(createRequest([createUserMessage("Hi")]), new AbortController().signal)) {
      if (delta.kind === "text-delta") break;
    }
    expect(await server.requests[0]?.ended).toBe("left");
  });

  test("aborted before it starts, it asks nobody", async () => {
    const { model, server } = await start(provider, []);
    expect(await collectDeltas(model, createRequest([createUserMessage("Hi")]), AbortSignal.abort())).toEqual([]);
    expect(server.requests).toHaveLength(0);
  });
});

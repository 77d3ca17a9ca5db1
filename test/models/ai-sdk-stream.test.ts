import type { LanguageModelV3StreamPart } from "@ai-sdk/provider";
import { APICallError } from "@ai-sdk/provider";
import fc from "fast-check";
import { afterEach, describe, expect, test, vi } from "vitest";
import type { Message } from "../../src/core/data/message.js";
import { asModel, fromAiSdk } from "../../src/models/ai-sdk/adapter.js";
import { isAiSdkModel, type LanguageModel } from "../../src/models/ai-sdk/language-model.js";
import type { Model } from "../../src/ports/model.js";
import { verifies } from "../verifies.js";
import { assembleMessage, collectDeltas, createRequest, createUserMessage, requireLastDelta } from "./collect.js";
import { createFinishPart, createStreamingV3, createStreamingV4, type StreamEnd, sampleUsage } from "./stream-parts.js";

const request = createRequest([createUserMessage("Hi")]);

function answer(parts: readonly LanguageModelV3StreamPart[], end?: StreamEnd) {
  return collectDeltas(fromAiSdk(createStreamingV3(parts, end).model), request);
}

const hello: readonly LanguageModelV3StreamPart[] = [
  { type: "text-start", id: "1" },
  { type: "text-delta", id: "1", delta: "Hello" },
  { type: "text-end", id: "1" },
];

afterEach(() => {
  vi.useRealTimers();
});

describe("what can be a model", () => {
  test("models of v3 and v4, called by provider and model", verifies("LOOP-9"), () => {
    for (const { model } of [createStreamingV3([]), createStreamingV4([])]) {
      expect(isAiSdkModel(model)).toBe(true);
      expect(fromAiSdk(model).id).toBe("test/model");
      expect(asModel(model).id).toBe("test/model");
    }
    expect(fromAiSdk(createStreamingV3([]).model, { id: "my/own", contextWindow: 8_192 })).toMatchObject({
      id: "my/own",
      contextWindow: 8_192,
    });
  });

  test("a model of this project is one as it is", verifies("LOOP-9"), () => {
    const own: Model = { id: "own/model", async *stream() {} };
    expect(asModel(own)).toBe(own);
  });

  test.each([
    ["a name", "openai/gpt-5", "unknown_model", 'resolveModel("openai/gpt-5")'],
    [
      "a model of v2",
      { ...createStreamingV3([]).model, specificationVersion: "v2" },
      "bad_configuration",
      "specification v2",
    ],
    ["something else", { generate() {} }, "bad_configuration", "not a model"],
    ["nothing", undefined, "bad_configuration", "not a model"],
  ])("%s is refused", verifies("LOOP-9"), (_name, value, code, words) => {
    const refusal = expect.objectContaining({ code, message: expect.stringContaining(words) });
    expect(isAiSdkModel(value)).toBe(false);
    expect(() => fromAiSdk(value as LanguageModel)).toThrow(refusal);
    expect(() => asModel(value as LanguageModel)).toThrow(refusal);
  });
});

describe("a whole answer", () => {
  test("text, usage and how it ended", async () => {
    expect(await answer([{ type: "stream-start", warnings: [] }, ...hello, createFinishPart()])).toEqual([
      { kind: "start" },
      { kind: "text-start", id: "1" },
      { kind: "text-delta", id: "1", text: "Hello" },
      { kind: "text-end", id: "1" },
      {
        kind: "done",
        finishReason: { unified: "stop", raw: "stop" },
        usage: { inputTokens: 12, outputTokens: 5, reasoningTokens: 2, cacheReadTokens: 10 },
      },
    ]);
  });

  test("start comes once, with the model and the warnings", async () => {
    const deltas = await answer([
      { type: "stream-start", warnings: [{ type: "unsupported", feature: "seed", details: "not here" }] },
      { type: "response-metadata", id: "r", modelId: "model-2026" },
      { type: "response-metadata", modelId: "again" },
      ...hello,
      createFinishPart(),
    ]);
    expect(deltas[0]).toEqual({ kind: "start", model: "model-2026", warnings: ["seed: not here"] });
    expect(deltas.filter((delta) => delta.kind === "start")).toHaveLength(1);
  });

  test("counts that are unknown stay unknown", async () => {
    const unknown = {
      inputTokens: { total: undefined, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
      outputTokens: { total: undefined, text: undefined, reasoning: undefined },
    };
    const deltas = await answer([...hello, { ...createFinishPart(), usage: unknown }]);
    expect(requireLastDelta(deltas, "done").usage).toEqual({});
  });

  test("metadata stays on its part", verifies("CTX-10"), async () => {
    const signed = { anthropic: { signature: "c2ln", empty: undefined } };
    const deltas = await answer([
      { type: "reasoning-start", id: "0" },
      { type: "reasoning-delta", id: "0", delta: "Hm." },
      { type: "reasoning-delta", id: "0", delta: "", providerMetadata: signed },
      { type: "reasoning-end", id: "0" },
      {
        type: "tool-call",
        toolCallId: "a",
        toolName: "t",
        input: "{}",
        providerMetadata: { google: { thoughtSignature: "x" } },
      },
      { ...createFinishPart("tool-calls"), providerMetadata: { test: { id: 1 } } },
    ]);
    expect(assembleMessage(deltas).parts).toEqual([
      { type: "reasoning", text: "Hm.", providerMetadata: { anthropic: { signature: "c2ln" } } },
      {
        type: "tool_call",
        toolCallId: "a",
        name: "t",
        input: {},
        providerMetadata: { google: { thoughtSignature: "x" } },
      },
    ]);
    expect(requireLastDelta(deltas, "done").providerMetadata).toEqual({ test: { id: 1 } });
  });

  test("what the provider ran itself comes with its result, preliminary results aside", async () => {
    const result = { type: "tool-result", toolCallId: "s", toolName: "web_search" } as const;
    const deltas = await answer([
      { type: "tool-input-start", id: "s", toolName: "web_search", providerExecuted: true },
      { type: "tool-call", toolCallId: "s", toolName: "web_search", input: '{"q":1}', providerExecuted: true },
      { ...result, result: { progress: 1 }, preliminary: true },
      { ...result, result: [{ url: "https://example.com" }] },
      { ...result, toolCallId: "f", result: "no luck", isError: true },
      { type: "source", sourceType: "url", id: "1", url: "https://example.com", title: "Example" },
      { type: "source", sourceType: "document", id: "2", mediaType: "text/plain", title: "A file", filename: "a.txt" },
      createFinishPart(),
    ]);
    expect(deltas.slice(1, -1)).toEqual([
      { kind: "tool-input-start", id: "s", name: "web_search", providerExecuted: true },
      { kind: "tool-call", id: "s", name: "web_search", input: '{"q":1}', providerExecuted: true },
      {
        kind: "tool-result",
        id: "s",
        name: "web_search",
        output: { type: "json", value: [{ url: "https://example.com" }] },
      },
      { kind: "tool-result", id: "f", name: "web_search", output: { type: "text", text: "no luck" }, isError: true },
      { kind: "source", id: "1", url: "https://example.com", title: "Example" },
      { kind: "source", id: "2", title: "A file", filename: "a.txt", mediaType: "text/plain" },
    ]);
  });

  test("files are base64 text or an address, in both specifications", async () => {
    const bytes = new Uint8Array([1, 2, 3]);
    const v3 = await answer([
      { type: "file", mediaType: "image/png", data: "AQID" },
      { type: "file", mediaType: "image/png", data: bytes },
      createFinishPart(),
    ]);
    const url = new URL("https://example.com/a.png");
    const v4 = await collectDeltas(
      fromAiSdk(
        createStreamingV4([
          { type: "file", mediaType: "image/png", data: { type: "data", data: bytes } },
          { type: "file", mediaType: "image/png", data: { type: "url", url } },
          createFinishPart(),
        ]).model,
      ),
      request,
    );
    const files = [...v3, ...v4].flatMap((delta) => (delta.kind === "file" ? [delta.data] : []));
    expect(files).toEqual(["AQID", "AQID", "AQID", "https://example.com/a.png"]);
  });

  test("what v4 alone has goes back as what it was", verifies("CTX-10"), async () => {
    const data = { type: "data", data: "AQID" } as const;
    const compaction = { anthropic: { encrypted: "…" } };
    const { model, calls } = createStreamingV4([
      { type: "custom", kind: "anthropic.fallback", providerMetadata: compaction },
      { type: "custom", kind: "anthropic.message_start", providerMetadata: { anthropic: { id: "m" } } },
      { type: "reasoning-file", mediaType: "image/png", data, providerMetadata: { google: { thoughtSignature: "x" } } },
      { type: "ping" },
      createFinishPart(),
    ]);
    const own = fromAiSdk(model);
    const message = assembleMessage(await collectDeltas(own, request));
    await collectDeltas(own, createRequest([createUserMessage("Hi"), message, createUserMessage("Go on")]));
    expect(calls[1]?.prompt[1]).toEqual({
      role: "assistant",
      content: [
        { type: "custom", kind: "anthropic.fallback", providerOptions: compaction },
        {
          type: "reasoning-file",
          mediaType: "image/png",
          data,
          providerOptions: { google: { thoughtSignature: "x" } },
        },
      ],
    });
  });
});

describe("a stream that goes wrong", () => {
  test("an error part and its finish are one error, with the usage", async () => {
    const deltas = await answer([
      ...hello,
      { type: "error", error: { type: "overloaded_error", message: "Overloaded" } },
      { type: "error", error: "again" },
      { type: "text-delta", id: "1", delta: "late" },
      createFinishPart("error"),
    ]);
    expect(deltas.filter((delta) => delta.kind === "text-delta")).toHaveLength(1);
    expect(deltas.at(-1)).toEqual({
      kind: "error",
      failure: { kind: "overloaded", message: "Overloaded", statusCode: 529, code: "overloaded_error" },
      usage: { inputTokens: 12, outputTokens: 5, reasoningTokens: 2, cacheReadTokens: 10 },
    });
  });

  test("an error part after which nothing comes is not waited for long", async () => {
    vi.useFakeTimers();
    const streaming = createStreamingV3([...hello, { type: "error", error: "broken" }], { type: "hang" });
    const deltas = collectDeltas(fromAiSdk(streaming.model), request);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(requireLastDelta(await deltas, "error").failure).toMatchObject({ kind: "network", message: "broken" });
    expect(streaming.cancelled()).toBe(1);
  });

  test.each([
    ["no finish", hello, undefined],
    ["nothing at all", [], undefined],
    ["a finish without a reason", [...hello, createFinishPart("other", null)], { inputTokens: 12 }],
  ] as const)("%s is an answer cut short", async (_name, parts, counts) => {
    const error = requireLastDelta(await answer(parts), "error");
    expect(error.failure).toMatchObject({ kind: "network", message: expect.stringContaining("cut short") });
    if (counts !== undefined) expect(error.usage).toMatchObject(counts);
  });

  test("v4 says itself that it was interrupted", async () => {
    const interrupted = {
      type: "finish",
      finishReason: { unified: "interrupted", raw: undefined },
      usage: sampleUsage,
    } as const;
    const deltas = await collectDeltas(fromAiSdk(createStreamingV4([interrupted]).model), request);
    expect(requireLastDelta(deltas, "error").failure.kind).toBe("network");
  });

  test("a finish with an error and no more is the provider's failure", async () => {
    const { failure } = requireLastDelta(await answer([...hello, createFinishPart("error", "blew up")]), "error");
    expect(failure).toMatchObject({ kind: "provider", code: "blew up" });
  });

  test("a stream that throws has failed with what it threw", async () => {
    const error = new APICallError({
      message: "Failed to process successful response",
      url: "",
      requestBodyValues: {},
      statusCode: 200,
      isRetryable: true,
    });
    const deltas = await answer(hello, { type: "fail", error });
    expect(deltas).toContainEqual({ kind: "text-delta", id: "1", text: "Hello" });
    expect(requireLastDelta(deltas, "error").failure.kind).toBe("network");
  });

  test("nothing follows the end", async () => {
    const streaming = createStreamingV3([...hello, createFinishPart(), ...hello, createFinishPart("length")]);
    const deltas = await collectDeltas(fromAiSdk(streaming.model), request);
    expect(requireLastDelta(deltas, "done").finishReason.unified).toBe("stop");
    expect(deltas.filter((delta) => delta.kind === "done")).toHaveLength(1);
  });

  test.each([
    [{ type: "text-delta", id: "1" }, "delta"],
    [{ type: "tool-call", toolCallId: "a", toolName: "t", input: {} }, "input"],
    [{ type: "tool-result", toolCallId: "a", toolName: "t" }, "result"],
    [{ type: "file", mediaType: "image/png", data: 7 }, "data"],
    [{ type: "finish", usage: sampleUsage }, "finishReason"],
    [{ type: "text-start", id: "1", providerMetadata: { test: 1 } }, "providerMetadata"],
  ])("a malformed part fails the attempt: %j", async (part, field) => {
    const { failure } = requireLastDelta(
      await answer([part as LanguageModelV3StreamPart, createFinishPart()]),
      "error",
    );
    expect(failure).toMatchObject({ kind: "provider", message: expect.stringContaining(`"${field}"`) });
  });
});

describe("afterRunHooksPending", () => {
  test("an abort is quiet, even where the provider does not look", async () => {
    const streaming = createStreamingV3(hello, { type: "hang" });
    const controller = new AbortController();
    const kinds: string[] = [];
    for await (const delta of fromAiSdk(streaming.model).stream(request, controller.signal)) {
      kinds.push(delta.kind);
      if (delta.kind === "text-end") queueMicrotask(() => controller.abort());
    }
    expect(kinds).toEqual(["start", "text-start", "text-delta", "text-end"]);
    expect(streaming.cancelled()).toBe(1);
  });

  test("an abort before the answer begins is quiet, and the stream that comes late is cancelled", async () => {
    const streaming = createStreamingV3([], { type: "hang" });
    let begin = () => {};
    const begun = new Promise<void>((resolve) => {
      begin = resolve;
    });
    const slow = {
      ...streaming.model,
      doStream: async (options: Parameters<typeof streaming.model.doStream>[0]) => {
        await begun;
        return streaming.model.doStream(options);
      },
    };
    const controller = new AbortController();
    const deltas = collectDeltas(fromAiSdk(slow), request, controller.signal);
    controller.abort();
    expect(await deltas).toEqual([]);
    begin();
    await vi.waitFor(() => expect(streaming.cancelled()).toBe(1));
  });

  test("an error because of the abort is no failure", async () => {
    const controller = new AbortController();
    const aborting = {
      ...createStreamingV3([]).model,
      doStream: async () => {
        controller.abort();
        throw new APICallError({ message: "aborted", url: "", requestBodyValues: {} });
      },
    };
    expect(await collectDeltas(fromAiSdk(aborting), request, controller.signal)).toEqual([]);
  });
});

/** Parts in any order, whole or with a member broken, of known and unknown types. */
const anyPart = fc.oneof(
  fc.constantFrom<unknown>(...hello, createFinishPart(), createFinishPart("error"), createFinishPart("other", null), {
    type: "error",
    error: "x",
  }),
  fc.record(
    {
      type: fc.constantFrom(
        ...["stream-start", "response-metadata", "text-start", "text-delta", "text-end", "reasoning-start"],
        ...["reasoning-delta", "reasoning-end", "tool-input-start", "tool-input-delta", "tool-input-end", "tool-call"],
        ...[
          "tool-result",
          "tool-approval-request",
          "file",
          "source",
          "raw",
          "error",
          "finish",
          "custom",
          "from the future",
        ],
      ),
      id: fc.constantFrom<unknown>("1", "2", "", 7),
      delta: fc.oneof(fc.string({ unit: "binary" }), fc.constant(undefined)),
      toolCallId: fc.constantFrom<unknown>("a", "b", "", null),
      toolName: fc.constantFrom<unknown>("t", "__proto__", undefined),
      input: fc.constantFrom<unknown>("{}", "", '{"a', {}),
      result: fc.anything(),
      data: fc.anything(),
      error: fc.anything(),
      usage: fc.constantFrom<unknown>(sampleUsage, undefined, { inputTokens: { total: Number.NaN } }),
      finishReason: fc.constantFrom<unknown>({ unified: "stop", raw: "x" }, { unified: "odd" }, undefined, "stop"),
      providerMetadata: fc.oneof({ weight: 4, arbitrary: fc.constant(undefined) }, fc.anything()),
    },
    { requiredKeys: ["type"] },
  ),
  fc.anything(),
);

const anyEnd: fc.Arbitrary<StreamEnd> = fc.oneof(
  fc.constant<StreamEnd>({ type: "close" }),
  fc.record({ type: fc.constant("fail" as const), error: fc.anything() }),
);

test("whatever comes, the stream starts once, ends once, and never throws", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(anyPart, { maxLength: 12 }), anyEnd, fc.boolean(), async (parts, end, v4) => {
      const { model } = v4 ? createStreamingV4(parts as never, end) : createStreamingV3(parts as never, end);
      const deltas = await collectDeltas(fromAiSdk(model), request);
      const kinds = deltas.map((delta) => delta.kind);
      expect(kinds[0]).toBe("start");
      expect(kinds.filter((kind) => kind === "start")).toHaveLength(1);
      expect(kinds.filter((kind) => kind === "done" || kind === "error")).toEqual([kinds.at(-1)]);
      // What is kept is plain JSON.
      expect(JSON.parse(JSON.stringify(deltas))).toEqual(deltas);
    }),
    { numRuns: 1_000 },
  );
});

test("each call is one attempt and asks once", async () => {
  const { model, calls } = createStreamingV3(hello);
  const own = fromAiSdk(model);
  const messages: readonly Message[] = [createUserMessage("Hi")];
  await collectDeltas(own, createRequest(messages));
  await collectDeltas(own, createRequest(messages, { attempt: 2 }));
  expect(calls).toHaveLength(2);
});

test("an answer that has come whole leaves turns of the event loop to others", async () => {
  const delta = { type: "text-delta", id: "1", delta: "word " } as const;
  const [start, , end] = hello as [LanguageModelV3StreamPart, LanguageModelV3StreamPart, LanguageModelV3StreamPart];
  const { model } = createStreamingV3([start, ...Array.from({ length: 2_000 }, () => delta), end, createFinishPart()]);
  let [turns, isOver] = [0, false];
  const count = () => {
    turns += 1;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  const deltas = await collectDeltas(fromAiSdk(model), request);
  isOver = true;
  expect(deltas.filter(({ kind }) => kind === "text-delta")).toHaveLength(2_000);
  expect(turns).toBeGreaterThanOrEqual(2_000 / 50);
});

test("a server without a prompt cache has not missed it", verifies("COST-4"), async () => {
  const usageOf = async (raw: { readonly [key: string]: number | object | null }, cacheRead = 0) => {
    const inputTokens = { total: 3_000, noCache: 3_000 - cacheRead, cacheRead, cacheWrite: undefined };
    const usage = { ...sampleUsage, inputTokens, raw } as typeof sampleUsage;
    return requireLastDelta(await answer([...hello, { ...createFinishPart(), usage }]), "done").usage;
  };
  expect(await usageOf({ prompt_tokens: 3_000 })).not.toHaveProperty("cacheReadTokens");
  expect(await usageOf({ prompt_tokens: 3_000, prompt_tokens_details: null })).not.toHaveProperty("cacheReadTokens");
  expect(await usageOf({ prompt_tokens: 3_000, prompt_tokens_details: {} })).not.toHaveProperty("cacheReadTokens");
  for (const reported of [
    { prompt_tokens_details: { cached_tokens: 0 } },
    { prompt_token_details: { cached_tokens: 0 } },
    { prompt_cache_hit_tokens: 0 },
    { num_cached_tokens: 0 },
  ])
    expect(await usageOf({ prompt_tokens: 3_000, ...reported })).toMatchObject({ cacheReadTokens: 0 });
  expect(await usageOf({ prompt_tokens: 3_000 }, 2_000)).toMatchObject({ cacheReadTokens: 2_000 });
  expect(await usageOf({ input_tokens: 3_000 })).toMatchObject({ cacheReadTokens: 0 });
});

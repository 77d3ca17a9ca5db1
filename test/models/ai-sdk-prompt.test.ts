import { describe, expect, test } from "vitest";
import type { AssistantMessage, AssistantPart, Message, ToolOutput } from "../../src/core/data/message.js";
import { fromAiSdk } from "../../src/models/ai-sdk/adapter.js";
import type { CallOptions } from "../../src/models/ai-sdk/call-options.js";
import { createPromptConverter } from "../../src/models/ai-sdk/prompt.js";
import type { ModelRequest } from "../../src/ports/model.js";
import { verifies } from "../verifies.js";
import { collectDeltas, createRequest, createUserMessage, weatherTool } from "./collect.js";
import { createFinishPart, createStreamingV3 } from "./stream-parts.js";

const { signal } = new AbortController();

function local(specificationVersion: "v3" | "v4") {
  return { specificationVersion, provider: "local.chat", modelId: "local-model" };
}
const converters = {
  v3: createPromptConverter(local("v3"), [], {}),
  v4: createPromptConverter(local("v4"), [], {}),
};

function convert(messages: readonly Message[], more: Partial<ModelRequest> = {}): CallOptions {
  return converters.v3(createRequest(messages, more), signal);
}

function assistant(...parts: readonly AssistantPart[]): AssistantMessage {
  return { role: "assistant", parts };
}

function result(toolCallId: string, output: ToolOutput, isError = false): Message {
  return { role: "tool", parts: [{ type: "tool_result", toolCallId, name: "t", output, ...(isError && { isError }) }] };
}

/** The content of the only message. */
function contentOf(message: Message, version: "v3" | "v4" = "v3"): unknown {
  return converters[version](createRequest([message]), signal).prompt[0]?.content;
}

describe("the prompt", () => {
  test("has the system prompt once, first", verifies("CTX-2"), () => {
    const { prompt } = convert([createUserMessage("Hi")], { systemPrompt: "Be kind." });
    expect(prompt).toEqual([
      { role: "system", content: "Be kind." },
      { role: "user", content: [{ type: "text", text: "Hi" }] },
    ]);
  });

  test("gives parts back in order, with what the provider attached", verifies("CTX-10"), () => {
    const message = assistant(
      { type: "reasoning", text: "Hm.", providerMetadata: { anthropic: { signature: "c2ln" } } },
      { type: "text", text: "One moment.", providerMetadata: { openai: { itemId: "msg_1" } } },
      { type: "source", id: "1", url: "https://example.com" },
      {
        type: "tool_call",
        toolCallId: "a",
        name: "t",
        input: { x: 1 },
        providerMetadata: { google: { thoughtSignature: "z" } },
      },
      { type: "text", text: "" },
      { type: "reasoning", text: "" },
      { type: "text", text: "", providerMetadata: { google: { thoughtSignature: "y" } } },
    );
    expect(contentOf(message)).toEqual([
      { type: "reasoning", text: "Hm.", providerOptions: { anthropic: { signature: "c2ln" } } },
      { type: "text", text: "One moment.", providerOptions: { openai: { itemId: "msg_1" } } },
      {
        type: "tool-call",
        toolCallId: "a",
        toolName: "t",
        input: { x: 1 },
        providerOptions: { google: { thoughtSignature: "z" } },
      },
      { type: "reasoning", text: "" },
      { type: "text", text: "", providerOptions: { google: { thoughtSignature: "y" } } },
    ]);
  });

  test("keeps what the provider ran itself within the message", () => {
    const message = assistant(
      { type: "tool_call", toolCallId: "s:1", name: "web_search", input: { q: "x" }, providerExecuted: true },
      {
        type: "tool_result",
        toolCallId: "s:1",
        name: "web_search",
        output: { type: "json", value: [1] },
        providerExecuted: true,
      },
    );
    expect(contentOf(message)).toEqual([
      { type: "tool-call", toolCallId: "s:1", toolName: "web_search", input: { q: "x" }, providerExecuted: true },
      { type: "tool-result", toolCallId: "s:1", toolName: "web_search", output: { type: "json", value: [1] } },
    ]);
  });

  test("sends arguments that could not be read as they were written", () => {
    const message = assistant({
      type: "tool_call",
      toolCallId: "a",
      name: "t",
      input: { _raw: '{"x":' },
      invalid: "ends at position 5",
    });
    expect(contentOf(message)).toEqual([
      { type: "tool-call", toolCallId: "a", toolName: "t", input: { _raw: '{"x":' } },
    ]);
  });

  test("leaves out a message of nothing", () => {
    const { prompt } = convert([
      createUserMessage("Hi"),
      assistant({ type: "source", id: "1" }),
      createUserMessage("Go on"),
    ]);
    expect(prompt.map((message) => message.role)).toEqual(["user", "user"]);
  });

  test("converts each message once", () => {
    const history: Message[] = [createUserMessage("Hi"), assistant({ type: "text", text: "Hello." })];
    const before = convert(history).prompt;
    const after = convert([...history, createUserMessage("More")]).prompt;
    expect(after).toHaveLength(3);
    expect(after[0]).toBe(before[0]);
    expect(after[1]).toBe(before[1]);
  });
});

describe("results", () => {
  const outputs: readonly (readonly [string, ToolOutput, boolean, unknown])[] = [
    ["text", { type: "text", text: "x" }, false, { type: "text", value: "x" }],
    ["a failure in text", { type: "text", text: "x" }, true, { type: "error-text", value: "x" }],
    ["JSON", { type: "json", value: { a: null } }, false, { type: "json", value: { a: null } }],
    ["a failure in JSON", { type: "json", value: [1] }, true, { type: "error-json", value: [1] }],
    [
      "a failure in several texts",
      {
        type: "content",
        parts: [
          { type: "text", text: "a" },
          { type: "text", text: "b" },
        ],
      },
      true,
      { type: "error-text", value: "a\nb" },
    ],
  ];
  test.each(outputs)("%s", (_name, output, isError, expected) => {
    expect(contentOf(result("a", output, isError))).toEqual([
      { type: "tool-result", toolCallId: "a", toolName: "t", output: expected },
    ]);
  });

  const content: ToolOutput = {
    type: "content",
    parts: [
      { type: "text", text: "See:" },
      { type: "file", mediaType: "image/png", data: "AQID" },
      { type: "file", mediaType: "application/pdf", data: "AQID", filename: "a.pdf" },
      { type: "file", mediaType: "image/png", data: "https://example.com/a.png" },
      { type: "file", mediaType: "application/pdf", data: "https://example.com/a.pdf" },
    ],
  };

  test("with files, in v3", () => {
    expect(contentOf(result("a", content))).toMatchObject([
      {
        output: {
          type: "content",
          value: [
            { type: "text", text: "See:" },
            { type: "image-data", mediaType: "image/png", data: "AQID" },
            { type: "file-data", mediaType: "application/pdf", data: "AQID" },
            { type: "image-url", url: "https://example.com/a.png" },
            { type: "file-url", url: "https://example.com/a.pdf" },
          ],
        },
      },
    ]);
  });

  test("with files, in v4", () => {
    const url = (address: string) => ({ type: "url", url: new URL(address) });
    expect(contentOf(result("a", content), "v4")).toMatchObject([
      {
        output: {
          type: "content",
          value: [
            { type: "text", text: "See:" },
            { type: "file", mediaType: "image/png", data: { type: "data", data: "AQID" } },
            { type: "file", filename: "a.pdf", data: { type: "data", data: "AQID" } },
            { type: "file", data: url("https://example.com/a.png") },
            { type: "file", data: url("https://example.com/a.pdf") },
          ],
        },
      },
    ]);
  });
});

test("files of a user, in v3 and v4", () => {
  const address = "https://example.com/a.png";
  const message: Message = {
    role: "user",
    parts: [
      { type: "file", mediaType: "image/png", data: "AQID", filename: "a.png" },
      { type: "file", mediaType: "image/png", data: address },
    ],
  };
  expect(contentOf(message)).toEqual([
    { type: "file", mediaType: "image/png", data: "AQID", filename: "a.png" },
    { type: "file", mediaType: "image/png", data: new URL(address) },
  ]);
  expect(contentOf(message, "v4")).toEqual([
    { type: "file", mediaType: "image/png", data: { type: "data", data: "AQID" }, filename: "a.png" },
    { type: "file", mediaType: "image/png", data: { type: "url", url: new URL(address) } },
  ]);
});

describe("ids of calls", () => {
  const idsOf = (id: string, provider = "local.chat", modelId = "local-model"): readonly unknown[] => {
    const call = assistant({ type: "tool_call", toolCallId: id, name: "t", input: {} });
    const own = createPromptConverter({ specificationVersion: "v3", provider, modelId }, [], {});
    const { prompt } = own(
      createRequest([createUserMessage("Hi"), call, result(id, { type: "text", text: "x" })]),
      signal,
    );
    return prompt
      .slice(1)
      .flatMap((message) =>
        typeof message.content === "string"
          ? []
          : message.content.map((part) => ("toolCallId" in part ? part.toolCallId : undefined)),
      );
  };
  const long = "x".repeat(65);
  const strange = ["functions.t:0", "call|fc_1", long, "ключ", "\0"];

  test.each([
    ["local.chat", "moonshotai/Kimi-K2-Instruct"],
    ["openrouter", "moonshotai/kimi-k2"],
    ["moonshot.chat", "kimi-k2-0905-preview"],
    ["google.generative-ai", "gemini-2.5-pro"],
    ["groq.chat", "llama-3.3-70b"],
    ["gateway", "xai/grok-4"],
  ])("%s, %s: every id goes back as it came", (provider, modelId) => {
    for (const id of [...strange, "toolu_01AbC-d", "a"]) expect(idsOf(id, provider, modelId)).toEqual([id, id]);
  });

  const refusing: readonly (readonly [string, string, RegExp])[] = [
    ["anthropic.messages", "claude-sonnet-4-5", /^[A-Za-z0-9_-]{1,64}$/],
    ["vertex.anthropic.messages", "claude-sonnet-4-5@20250929", /^[A-Za-z0-9_-]{1,64}$/],
    ["bedrock.anthropic.messages", "anthropic.claude-sonnet-4-5", /^[A-Za-z0-9_-]{1,64}$/],
    ["amazon-bedrock", "us.anthropic.claude-sonnet-4-5-20250929-v1:0", /^[A-Za-z0-9_-]{1,64}$/],
    ["amazon-bedrock", "moonshot.kimi-k2-thinking", /^[A-Za-z0-9_-]{1,64}$/],
    ["openrouter", "anthropic/claude-sonnet-4.5", /^[A-Za-z0-9_-]{1,64}$/],
    ["gateway", "anthropic/claude-sonnet-4.5", /^[A-Za-z0-9_-]{1,64}$/],
    ["mistral.chat", "mistral-large-latest", /^[A-Za-z0-9]{9}$/],
    ["amazon-bedrock", "us.mistral.pixtral-large-2502-v1:0", /^[A-Za-z0-9]{9}$/],
    ["openrouter", "mistralai/devstral-medium", /^[A-Za-z0-9]{9}$/],
    ["openai.responses", "gpt-5", /^.{1,64}$/s],
    ["azure.chat", "my-deployment", /^.{1,40}$/s],
    ["openrouter", "openai/gpt-5", /^.{1,40}$/s],
  ];

  test.each(refusing)(
    "%s, %s: ids that it refuses are rewritten, the same for call and result",
    (provider, modelId, accepted) => {
      for (const id of ["", ...strange]) {
        const [ofCall, ofResult] = idsOf(id, provider, modelId);
        expect(ofCall).toMatch(accepted);
        expect(ofResult).toBe(ofCall);
        expect(idsOf(id, provider, modelId)).toEqual([ofCall, ofResult]);
        if (accepted.test(id)) expect(ofCall).toBe(id);
      }
    },
  );

  test.each(refusing)("%s, %s: different ids stay different", (provider, modelId) => {
    const alike = ["a.b", "a:b", "a_b", "a.b:1", "call_1", "call_2", `${long}1`, `${long}2`];
    const ids = [...alike, ...Array.from({ length: 200 }, (_, index) => `functions.read_file:${index}`)];
    expect(new Set(ids.map((id) => idsOf(id, provider, modelId)[0])).size).toBe(ids.length);
  });

  test.each([
    ["anthropic.messages", "claude-sonnet-4-5", "toolu_01AbC-d"],
    ["mistral.chat", "mistral-large-latest", "D681PevKs"],
    ["openai.responses", "gpt-5", "call_o.k"],
  ])("%s, %s: its own ids stay as they are", (provider, modelId, id) => {
    expect(idsOf(id, provider, modelId)).toEqual([id, id]);
  });
});

describe("settings", () => {
  test("tools are converted once and sent with the choice", () => {
    const tools = [weatherTool];
    const first = convert([createUserMessage("Hi")], { tools, toolChoice: { tool: "weather" } });
    const second = convert([createUserMessage("Hi")], { tools, toolChoice: "required" });
    expect(first.tools).toEqual([{ type: "function", ...weatherTool }]);
    expect(second.tools).toBe(first.tools);
    expect(first.toolChoice).toEqual({ type: "tool", toolName: "weather" });
    expect(second.toolChoice).toEqual({ type: "required" });
  });

  test("without tools there is no choice", () => {
    const options = convert([createUserMessage("Hi")], { toolChoice: "none" });
    expect(options).not.toHaveProperty("tools");
    expect(options).not.toHaveProperty("toolChoice");
  });

  test("limits, format and the provider's options", () => {
    const responseFormat = { type: "json", schema: { type: "object" }, name: "answer" } as const;
    const withDefaults = createPromptConverter(local("v4"), [], { openai: { store: false, user: "a" }, xai: { x: 1 } });
    const request = createRequest([createUserMessage("Hi")], {
      maxOutputTokens: 100,
      temperature: 0,
      responseFormat,
      providerOptions: { openai: { user: "b" } },
    });
    expect(withDefaults(request, signal)).toMatchObject({
      maxOutputTokens: 100,
      temperature: 0,
      responseFormat,
      providerOptions: { openai: { store: false, user: "b" }, xai: { x: 1 } },
      abortSignal: signal,
    });
  });

  test("tools that the provider runs are sent beside ours", async () => {
    const { model, calls } = createStreamingV3([createFinishPart()]);
    const search = { type: "provider", id: "anthropic.web_search", name: "web_search", args: {} } as const;
    await collectDeltas(
      fromAiSdk(model, { providerTools: [search] }),
      createRequest([createUserMessage("Hi")], { tools: [weatherTool] }),
    );
    expect(calls[0]?.tools).toEqual([{ type: "function", ...weatherTool }, search]);
  });
});

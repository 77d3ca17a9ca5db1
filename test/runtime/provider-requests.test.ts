/**
 * What a provider wants back: the body of the second request of a run, by the real packages. The first answer is written
 * from the provider's documentation, and asks for a tool that runs here.
 */
import { createAmazonBedrock } from "@ai-sdk/amazon-bedrock";
import { createAnthropic } from "@ai-sdk/anthropic";
import { createDeepSeek } from "@ai-sdk/deepseek";
import { createGoogleGenerativeAI } from "@ai-sdk/google";
import { createGroq } from "@ai-sdk/groq";
import { createMistral } from "@ai-sdk/mistral";
import { createOpenAI } from "@ai-sdk/openai";
import { createXai } from "@ai-sdk/xai";
import { createOpenRouter } from "@openrouter/ai-sdk-provider";
import { createAnthropic as createAnthropicV4 } from "anthropic-v4";
import { createGoogle as createGoogleV4 } from "google-v4";
import { createOpenAI as createOpenAIV4 } from "openai-v4";
import { describe, expect, test } from "vitest";
import { type AgentOptions, createAgent, defineTool, type ProviderMetadata } from "../../src/index.js";
import { fromAiSdk } from "../../src/models/index.js";
import { createFinishPart, createStreamingV3 } from "../models/stream-parts.js";
import { type Body, readList, startWireServer, type WireReply } from "../models/wire-server.js";
import {
  anthropicMessage,
  chatCall,
  chatCompletion,
  converseStream,
  createOutputText,
  geminiContent,
  responses,
} from "../models/wires.js";
import { verifies } from "../verifies.js";

const weather = defineTool({
  name: "weather",
  description: "The weather in a city.",
  input: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
  execute: () => "sun",
});

type Started = {
  readonly model: Parameters<typeof fromAiSdk>[0];
  readonly tools?: Exclude<NonNullable<AgentOptions["tools"]>, readonly unknown[]>;
  readonly providerOptions?: ProviderMetadata;
};

/** Runs two steps; returns the bodies of both requests. */
async function bodiesOf(replies: readonly WireReply[], start: (origin: string) => Started): Promise<readonly Body[]> {
  const server = await startWireServer(replies);
  const { model, tools = {}, providerOptions = {} } = start(server.origin);
  const agent = createAgent({
    model: fromAiSdk(model, { providerOptions }),
    tools: { weather, ...tools },
    retry: { maxRetries: 0 },
  });
  const result = await agent.run("Weather in Oslo?");
  expect(result, JSON.stringify(result)).toMatchObject({ status: "completed", text: "Sun.", steps: 2 });
  return server.bodies;
}

const apiKey = "sk-test";
const city = { city: "Oslo" };
const reasoning = {
  type: "reasoning",
  id: "rs_1",
  summary: [{ type: "summary_text", text: "Oslo, then." }],
  encrypted_content: "ZW5jcnlwdGVk",
};
const functionCall = {
  type: "function_call",
  id: "fc_1",
  call_id: "call_1",
  name: "weather",
  arguments: JSON.stringify(city),
  status: "completed",
};
const said = responses("resp_2", [createOutputText("msg_2", "Sun.")]);
const typesIn = (items: readonly Body[]) => items.map(({ type, role }) => type ?? role);

describe.each([
  ["v3", createOpenAI],
  ["v4", createOpenAIV4],
] as const)("OpenAI Responses, stateless, %s", (_specification, create) => {
  test("its encrypted reasoning, the call and the result", verifies("CTX-10"), async () => {
    const [, body] = await bodiesOf([responses("resp_1", [reasoning, functionCall]), said], (origin) => ({
      model: create({ baseURL: `${origin}/v1`, apiKey })("gpt-5"),
      providerOptions: { openai: { store: false, include: ["reasoning.encrypted_content"] } },
    }));
    const input = readList(body, "input");
    expect(typesIn(input)).toEqual(["user", "reasoning", "function_call", "function_call_output"]);
    expect(input[1]).toEqual({ ...reasoning });
    expect(input[2]).toMatchObject({ call_id: "call_1", name: "weather", arguments: functionCall.arguments });
    expect(input[3]).toEqual({ type: "function_call_output", call_id: "call_1", output: "sun" });
  });
});

test("OpenAI: the caller of a call goes back with its result", verifies("CTX-10"), async () => {
  const caller = { type: "program", caller_id: "prog_1" };
  const called = responses("resp_1", [{ ...functionCall, caller }]);
  const [, body] = await bodiesOf([called, said], (origin) => ({
    model: createOpenAIV4({ baseURL: `${origin}/v1`, apiKey })("gpt-5"),
    providerOptions: { openai: { store: false } },
  }));
  const input = readList(body, "input");
  expect(input.find(({ type }) => type === "function_call")).toMatchObject({ caller });
  expect(input.find(({ type }) => type === "function_call_output")).toMatchObject({ call_id: "call_1", caller });
});

test("xAI Responses: its encrypted reasoning", verifies("CTX-10"), async () => {
  const thought = { ...reasoning, status: "completed" };
  const [, body] = await bodiesOf([responses("resp_1", [thought, functionCall]), said], (origin) => ({
    model: createXai({ baseURL: `${origin}/v1`, apiKey }).responses("grok-4"),
    providerOptions: { xai: { store: false } },
  }));
  const input = readList(body, "input");
  expect(input.find(({ type }) => type === "reasoning")).toMatchObject({ encrypted_content: "ZW5jcnlwdGVk" });
  expect(input.find(({ type }) => type === "function_call_output")).toMatchObject({ call_id: "call_1", output: "sun" });
});

describe.each([
  ["v3", createAnthropic],
  ["v4", createAnthropicV4],
] as const)("Anthropic, %s", (_specification, create) => {
  const thinking = { type: "thinking", thinking: "Oslo, then.", signature: "c2lnbmVk" };
  const toolUse = { type: "tool_use", id: "toolu_1", name: "weather", input: city };
  const ends = anthropicMessage("end_turn", [{ type: "text", text: "Sun." }]);
  const start = (tools: (provider: ReturnType<typeof createAnthropic>) => Started["tools"]) => (origin: string) => {
    const provider = create({ baseURL: `${origin}/v1`, apiKey }) as ReturnType<typeof createAnthropic>;
    const made = tools(provider);
    return {
      model: provider("claude-sonnet-4-5"),
      ...(made === undefined ? {} : { tools: made }),
      providerOptions: { anthropic: { thinking: { type: "enabled", budgetTokens: 1_024 } } },
    };
  };

  test("its signed thinking, and results of its own tools and of MCP servers", verifies("CTX-10"), async () => {
    const search = { type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: { query: "Oslo" } };
    const result = { type: "web_search_result", url: "https://example.com", title: "Oslo", encrypted_content: "ZW5j" };
    const found = {
      type: "web_search_tool_result",
      tool_use_id: "srvtoolu_1",
      content: [{ ...result, page_age: null }],
    };
    const mcp = { type: "mcp_tool_use", id: "mcptoolu_1", name: "echo", server_name: "test", input: { a: 1 } };
    const mcpResult = {
      type: "mcp_tool_result",
      tool_use_id: "mcptoolu_1",
      is_error: false,
      content: [{ type: "text", text: "1" }],
    };
    const first = anthropicMessage("tool_use", [thinking, search, found, mcp, mcpResult, toolUse]);
    const [, body] = await bodiesOf(
      [first, ends],
      start((provider) => ({ web_search: provider.tools.webSearch_20250305() })),
    );
    const [, assistant, user] = readList(body, "messages");
    const blocks = readList(assistant, "content");
    expect(typesIn(blocks)).toEqual([
      "thinking",
      "server_tool_use",
      "web_search_tool_result",
      "mcp_tool_use",
      "mcp_tool_result",
      "tool_use",
    ]);
    expect(blocks[0]).toMatchObject({ signature: "c2lnbmVk", thinking: "Oslo, then." });
    expect(blocks[2]).toMatchObject({ tool_use_id: "srvtoolu_1", content: [{ encrypted_content: "ZW5j" }] });
    expect(blocks[3]).toMatchObject({ server_name: "test", input: { a: 1 } });
    expect(blocks[4]).toMatchObject({ tool_use_id: "mcptoolu_1", content: [{ type: "text", text: "1" }] });
    expect(readList(user, "content")).toMatchObject([{ type: "tool_result", tool_use_id: "toolu_1" }]);
  });

  test(
    "a call that its code execution made, and the container that waits for the result",
    verifies("CTX-10"),
    async () => {
      const code = { type: "server_tool_use", id: "srvtoolu_1", name: "code_execution", input: { code: "weather()" } };
      const caller = { type: "code_execution_20250825", tool_id: "srvtoolu_1" };
      const container = { id: "container_1", expires_at: "2099-01-01T00:00:00Z", skills: null };
      const first = anthropicMessage("tool_use", [code, { ...toolUse, caller }], { container });
      const executed = {
        type: "code_execution_tool_result",
        tool_use_id: "srvtoolu_1",
        content: { type: "code_execution_result", stdout: "sun", stderr: "", return_code: 0, content: [] },
      };
      const last = anthropicMessage("end_turn", [executed, { type: "text", text: "Sun." }]);
      const [, body] = await bodiesOf(
        [first, last],
        start((provider) => ({ code_execution: provider.tools.codeExecution_20250825() })),
      );
      const [, assistant] = readList(body, "messages");
      expect(readList(assistant, "content")).toMatchObject([
        { type: "server_tool_use", id: "srvtoolu_1" },
        { type: "tool_use", id: "toolu_1", caller },
      ]);
      expect(body?.container).toBe("container_1");
    },
  );
});

describe.each([
  ["v3", createGoogleGenerativeAI],
  ["v4", createGoogleV4],
] as const)("Gemini, %s", (_specification, create) => {
  test("its thought signatures", verifies("CTX-10"), async () => {
    const call = { functionCall: { name: "weather", args: city, id: "call_1" }, thoughtSignature: "c2lnbmVk" };
    const first = geminiContent([{ text: "Oslo, then.", thought: true }, call]);
    const [, body] = await bodiesOf([first, geminiContent([{ text: "Sun." }])], (origin) => ({
      model: create({ baseURL: `${origin}/v1beta`, apiKey })("gemini-3-pro-preview"),
    }));
    const [, model, user] = readList(body, "contents");
    expect(readList(model, "parts").at(-1)).toMatchObject({
      functionCall: { name: "weather", args: city },
      thoughtSignature: "c2lnbmVk",
    });
    expect(readList(user, "parts")).toMatchObject([{ functionResponse: { name: "weather" } }]);
  });
});

test("Bedrock: its signed reasoning", verifies("CTX-10"), async () => {
  const contentType = "application/vnd.amazon.eventstream";
  const start = ["messageStart", { role: "assistant" }] as const;
  const end = (stopReason: string) =>
    [
      ["messageStop", { stopReason }],
      ["metadata", { usage: { inputTokens: 20, outputTokens: 10, totalTokens: 30 }, metrics: { latencyMs: 1 } }],
    ] as const;
  const delta = (index: number, of: object) => ["contentBlockDelta", { contentBlockIndex: index, delta: of }] as const;
  const first = converseStream([
    start,
    delta(0, { reasoningContent: { text: "Oslo, then." } }),
    delta(0, { reasoningContent: { signature: "c2lnbmVk" } }),
    ["contentBlockStop", { contentBlockIndex: 0 }],
    ["contentBlockStart", { contentBlockIndex: 1, start: { toolUse: { toolUseId: "tooluse_1", name: "weather" } } }],
    delta(1, { toolUse: { input: JSON.stringify(city) } }),
    ["contentBlockStop", { contentBlockIndex: 1 }],
    ...end("tool_use"),
  ]);
  const second = converseStream([
    start,
    delta(0, { text: "Sun." }),
    ["contentBlockStop", { contentBlockIndex: 0 }],
    ...end("end_turn"),
  ]);
  const [, body] = await bodiesOf(
    [first, second].map((one) => ({ contentType, body: one })),
    (origin) => ({
      model: createAmazonBedrock({ baseURL: origin, region: "us-east-1", apiKey })("anthropic.claude-sonnet-4-5"),
    }),
  );
  const [, assistant, user] = readList(body, "messages");
  expect(readList(assistant, "content")).toMatchObject([
    { reasoningContent: { reasoningText: { text: "Oslo, then.", signature: "c2lnbmVk" } } },
    { toolUse: { toolUseId: "tooluse_1", name: "weather", input: city } },
  ]);
  expect(readList(user, "content")).toMatchObject([
    { toolResult: { toolUseId: "tooluse_1" } },
    { cachePoint: { type: "default" } },
  ]);
});

test("a cited document keeps its file name and media type", verifies("CTX-10"), async () => {
  const { model } = createStreamingV3([
    {
      type: "source",
      sourceType: "document",
      id: "1",
      mediaType: "application/pdf",
      title: "Pawls",
      filename: "p.pdf",
    },
    { type: "text-start", id: "1" },
    { type: "text-delta", id: "1", delta: "A pawl is a catch." },
    { type: "text-end", id: "1" },
    createFinishPart(),
  ]);
  const agent = createAgent({ model });
  await agent.run("What is a pawl?", { sessionId: "s" });
  const [, answer] = await agent.session("s").messages();
  expect(answer?.parts[0]).toEqual({
    type: "source",
    id: "1",
    title: "Pawls",
    mediaType: "application/pdf",
    filename: "p.pdf",
  });
});

describe("chat completions", () => {
  const call = chatCall("D681PevKs", "weather", city);
  const ends = chatCompletion([{ content: "Sun." }], "stop");
  const calls = [{ id: "D681PevKs", function: { name: "weather", arguments: JSON.stringify(city) } }];

  /** The assistant's message and the result in the second request. */
  async function sentBack(deltas: readonly object[], start: (origin: string) => Started) {
    const [, body] = await bodiesOf([chatCompletion([...deltas, call], "tool_calls"), ends], start);
    const [, assistant, result] = readList(body, "messages");
    expect(assistant).toMatchObject({ role: "assistant", tool_calls: calls });
    expect(result).toMatchObject({ role: "tool", tool_call_id: "D681PevKs", content: "sun" });
    return assistant;
  }

  test("DeepSeek: its reasoning", verifies("CTX-10"), async () => {
    const assistant = await sentBack([{ reasoning_content: "Oslo, " }, { reasoning_content: "then." }], (origin) => ({
      model: createDeepSeek({ baseURL: `${origin}/v1`, apiKey })("deepseek-reasoner"),
    }));
    expect(assistant).toMatchObject({ reasoning_content: "Oslo, then." });
  });

  test("Mistral: its thinking", verifies("CTX-10"), async () => {
    const thinking = { type: "thinking", thinking: [{ type: "text", text: "Oslo, then." }] };
    const assistant = await sentBack([{ content: [thinking] }], (origin) => ({
      model: createMistral({ baseURL: `${origin}/v1`, apiKey })("magistral-medium-latest"),
    }));
    expect(readList(assistant, "content")).toMatchObject([thinking]);
  });

  test("Groq: its reasoning", verifies("CTX-10"), async () => {
    const assistant = await sentBack([{ reasoning: "Oslo, then." }], (origin) => ({
      model: createGroq({ baseURL: `${origin}/v1`, apiKey })("openai/gpt-oss-120b"),
      providerOptions: { groq: { reasoningFormat: "parsed" } },
    }));
    expect(assistant).toMatchObject({ reasoning: "Oslo, then." });
  });

  test("OpenRouter: its reasoning details", verifies("CTX-10"), async () => {
    const details = [
      { type: "reasoning.text", text: "Oslo, then.", signature: "c2lnbmVk", format: "anthropic-claude-v1", index: 0 },
      { type: "reasoning.encrypted", data: "ZW5j", id: "rs_1", format: "openai-responses-v1", index: 1 },
    ];
    const assistant = await sentBack([{ reasoning_details: details }], (origin) => ({
      model: createOpenRouter({ baseURL: `${origin}/v1`, apiKey })("anthropic/claude-sonnet-4.5"),
    }));
    expect(readList(assistant, "reasoning_details")).toMatchObject(
      details.map(({ type, format }) => ({ type, format })),
    );
    expect(JSON.stringify(assistant)).toContain("c2lnbmVk");
    expect(JSON.stringify(assistant)).toContain("ZW5j");
  });
});

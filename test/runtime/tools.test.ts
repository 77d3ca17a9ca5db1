import { tool as aiTool, dynamicTool, jsonSchema } from "ai";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { createTokenEstimator } from "../../src/context/tokens.js";
import type { PawlError } from "../../src/errors.js";
import { createAgent } from "../../src/index.js";
import type { AnyTool, ToolContext } from "../../src/ports/tool.js";
import { fromAiSdkTool } from "../../src/runtime/tools/ai-sdk-tool.js";
import { normaliseTools, type Tools } from "../../src/runtime/tools/compile-tools.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import { collect } from "../support/agents.js";
import { noToolData } from "../support/tool-data.js";
import { verifies } from "../verifies.js";

const context: ToolContext = {
  signal: new AbortController().signal,
  toolCallId: "call_1",
  callKey: "run_1/0/0",
  idempotencyKey: "run_1/0/0",
  attempt: 1,
  sessionId: "session_1",
  params: {},
  runId: "run_1",
  traceparent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
  deps: { database: "x" },
  messages: [],
  data: noToolData,
  services: { usage: null, output: null, compaction: null, tokens: createTokenEstimator() },
  progress: () => {},
  step: () => Promise.reject(new Error("no steps here")),
  ask: () => Promise.reject(new Error("no questions here")),
  sleep: () => Promise.reject(new Error("no sleeps here")),
  waitFor: () => Promise.reject(new Error("no waits here")),
};

const echo: AnyTool = {
  name: "echo",
  description: "Says it again",
  input: { type: "object" },
  execute: (input) => input,
};

function refusalOf(tools: unknown): string {
  try {
    normaliseTools(tools as Tools);
  } catch (error) {
    return `${(error as PawlError).code}: ${(error as PawlError).message}`;
  }
  throw new Error("it was not refused");
}

describe("normaliseTools", () => {
  test("gives each tool by its name, with what a model is told", verifies("TOOL-1#schema"), () => {
    const tools = normaliseTools([echo, { ...echo, name: "echo-2" }]);
    expect([...tools.keys()]).toEqual(["echo", "echo-2"]);
    expect(tools.get("echo")?.tool).toBe(echo);
    expect(tools.get("echo")?.specification).toEqual({
      name: "echo",
      description: "Says it again",
      inputSchema: { type: "object" },
    });
  });

  test("knows no tool by a name of Object's", verifies("TOOL-2#lookup", "SEC-12"), () => {
    for (const name of ["__proto__", "constructor", "toString", "hasOwnProperty"])
      expect(normaliseTools({ echo }).get(name)).toBeUndefined();
  });

  const refusals: readonly [what: string, tools: unknown, message: string][] = [
    ["two of one name", [echo, { ...echo }], 'duplicate_tool: Two tools are named "echo"'],
    ["a name with a space", [{ ...echo, name: "my tool" }], "bad_configuration"],
    ["an empty name", [{ ...echo, name: "" }], "bad_configuration"],
    ["a name of 65 letters", [{ ...echo, name: "x".repeat(65) }], "bad_configuration"],
    ["no name", [{ ...echo, name: undefined }], "bad_configuration"],
    ["no description", [{ ...echo, description: undefined }], "has no description"],
    [
      "a schema that cannot be used",
      [{ ...echo, input: z.number() }],
      'The tool "echo": The input schema cannot be used',
    ],
    ["another key than the name", { other: echo }, 'is listed under the key "other"'],
    ["an AI SDK tool in a list", [aiTool({ inputSchema: z.object({}) })], "{ name: tool }"],
  ];
  test.each(refusals)("refuses %s", verifies("TOOL-1#schema"), (_what, tools, message) => {
    expect(refusalOf(tools)).toContain(message);
  });
});

describe("a tool of the AI SDK", () => {
  const weather = aiTool({
    description: "The weather of a city",
    inputSchema: z.object({ city: z.string(), days: z.number().default(1) }),
    execute: async ({ city, days }, { toolCallId, abortSignal, messages, experimental_context }) => ({
      city,
      days,
      toolCallId,
      aborted: abortSignal?.aborted,
      messages: messages.length,
      experimental_context,
    }),
  });

  test("works unchanged, and counts as one that changes something", verifies("TOOL-1#ai-sdk"), async () => {
    const compiled = normaliseTools({ weather, echo }).get("weather");
    expect(compiled?.specification).toMatchObject({
      name: "weather",
      description: "The weather of a city",
      inputSchema: { type: "object", required: ["city"] },
    });
    expect(compiled?.tool.readOnly).toBeUndefined();
    const input = await compiled?.validate({ city: "Bern" });
    expect(input).toEqual({ ok: true, value: { city: "Bern", days: 1 } });
    expect(await compiled?.tool.execute?.({ city: "Bern", days: 1 }, context)).toEqual({
      city: "Bern",
      days: 1,
      toolCallId: "call_1",
      aborted: false,
      messages: 0,
      experimental_context: { database: "x" },
    });
  });

  test("waits for its result where it has no execute", verifies("TOOL-1#ai-sdk"), () => {
    const external = fromAiSdkTool("ask", aiTool({ description: "Asks", inputSchema: z.object({}) }));
    expect(external.execute).toBeUndefined();
  });

  test("gives the last part of a result that comes in parts", verifies("TOOL-1#ai-sdk", "TOOL-14"), async () => {
    const streaming = aiTool({
      inputSchema: z.object({}),
      async *execute() {
        yield { done: 1 };
        yield { done: 2 };
        // The AI SDK does not look at what a generator returns.
        return { done: 3 } as never;
      },
      toModelOutput: ({ output }: { readonly output: unknown }) => ({ type: "text", value: JSON.stringify(output) }),
    } as never);
    const agent = createAgent({
      model: createScriptedModel([{ calls: [{ name: "work" }] }, { text: "Done." }]),
      tools: { work: streaming },
    });
    const items = await collect(agent.runStream("Go"));
    const shown = items.flatMap((item) =>
      item.type === "preliminary" || item.type === "tool_result" ? [item.output] : [],
    );
    expect(shown).toEqual([
      { type: "json", value: { done: 1 } },
      { type: "json", value: { done: 2 } },
      { type: "text", text: '{"done":2}' },
    ]);
  });

  test("asks for approval as it says", verifies("TOOL-1#ai-sdk"), async () => {
    const inputSchema = z.object({ amount: z.number() });
    expect(fromAiSdkTool("pay", aiTool({ inputSchema })).needsApproval).toBe(false);
    expect(fromAiSdkTool("pay", aiTool({ inputSchema, needsApproval: true })).needsApproval).toBe(true);
    const { needsApproval } = fromAiSdkTool(
      "pay",
      aiTool({ inputSchema, needsApproval: async ({ amount }) => amount > 10 }),
    );
    if (typeof needsApproval !== "function") throw new Error("it is a function");
    const asked = { ...context, data: {} };
    expect([await needsApproval({ amount: 11 }, asked), await needsApproval({ amount: 1 }, asked)]).toEqual([
      true,
      false,
    ]);
  });

  test("takes every form of schema that the AI SDK takes", verifies("TOOL-1#ai-sdk"), () => {
    const specification = { inputSchema: { type: "object" } };
    const forms = {
      plain: jsonSchema({ type: "object" }),
      lazy: () => jsonSchema({ type: "object" }),
      none: undefined,
    };
    for (const [name, inputSchema] of Object.entries(forms))
      expect(normaliseTools({ [name]: { inputSchema } }).get(name)).toMatchObject({ specification });
    expect(normaliseTools({ any: dynamicTool({ inputSchema: z.object({}), execute: async () => 1 }) }).has("any")).toBe(
      true,
    );
  });

  test("of its provider, is sent as the provider's own", verifies("TOOL-18"), () => {
    const args = { maxUses: 3, nothing: undefined };
    const search = { type: "provider", id: "anthropic.web_search_20250305", args, inputSchema: z.object({}) };
    expect(normaliseTools({ search }).get("search")).toMatchObject({
      specification: { name: "search", provider: { id: "anthropic.web_search_20250305", args: { maxUses: 3 } } },
    });
    expect(refusalOf({ search: { ...search, id: "web_search" } })).toContain('is not like "openai.shell"');
    expect(refusalOf({ search: { ...search, args: "no" } })).toContain("are not an object");
  });
});

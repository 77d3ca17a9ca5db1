/**
 * Tools of AI SDK 7, which is no part of `npm ci`.
 */
import { createAnthropic } from "anthropic-v4";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { createAgent } from "../../src/index.js";
import type { AiSdkTool } from "../../src/runtime/tools/ai-sdk-tool.js";
import type { Tools } from "../../src/runtime/tools/compile-tools.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import { resolveCheckTool } from "../support/check-tools.js";
import { verifies } from "../verifies.js";
import { type Sdk, toolTests } from "./ai-sdk-tool-tests.js";

const {
  tool,
  jsonSchema,
  toolSearch,
}: Sdk & {
  readonly toolSearch: (options?: object) => AiSdkTool;
} = await import(resolveCheckTool("ai-v7/dist/index.js"));

toolTests("a tool of AI SDK 7", { tool, jsonSchema }, (baseURL) =>
  createAnthropic({ baseURL, apiKey: "sk-test" })("claude-sonnet-5"),
);

describe("deferLoading and toolSearch() of AI SDK 7", () => {
  const charge = tool({
    description: "Charges.",
    inputSchema: z.object({ cents: z.number() }),
    execute: ({ cents }) => `charged ${cents}`,
    ...{ deferLoading: true },
  });
  const refund = tool({
    description: "Refunds.",
    inputSchema: z.object({}),
    execute: () => "",
    ...{ deferLoading: true },
  });

  test("become find_tools, with the author's search and number of results", verifies("COST-5", "COST-6"), async () => {
    const asked: unknown[] = [];
    const search = (options: unknown) => {
      asked.push(options);
      return ["refund", "nothing", "charge"];
    };
    const model = createScriptedModel([
      { calls: [{ name: "find_tools", input: { query: "take money" } }] },
      { calls: [{ name: "call_tool", input: { name: "charge", input: { cents: 5 } } }] },
      { text: "Done." },
    ]);
    const tools = { charge, refund, search: toolSearch({ search, maxResults: 1 }) } as Tools;
    await createAgent({ model, tools, toolOutput: null }).run("Go");
    expect(model.requests[0]?.tools.map(({ name }) => name)).toEqual(["find_tools", "call_tool"]);
    expect(asked).toEqual([
      {
        query: "take money",
        tools: [
          { name: "charge", description: "Charges." },
          { name: "refund", description: "Refunds." },
        ],
      },
    ]);
    const found = JSON.stringify(model.requests[1]?.messages.at(-1));
    expect(found).toContain("Refunds.");
    expect(found).not.toContain("Charges.");
    expect(JSON.stringify(model.requests[2]?.messages.at(-1))).toContain("charged 5");
  });
});

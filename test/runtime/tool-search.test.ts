/**
 * Deferred tools: the model finds them with `find_tools` and calls them through `call_tool`, and all else sees the real calls.
 */
import { resolve } from "node:path";
import { createAnthropic } from "@ai-sdk/anthropic";
import { describe, expect, onTestFinished, test } from "vitest";
import { type Bill, beginsWith, billed, startBillingServer } from "../../bench/economy/billing-server.mjs";
import {
  createAgent,
  createMemoryStore,
  defineTool,
  type Json,
  type ModelRequest,
  type PublicEvent,
} from "../../src/index.js";
import { modelRequests } from "../../src/inspect.js";
import type { AnyTool } from "../../src/ports/tool.js";
import { createScriptedModel, type Script } from "../../src/testing/scripted-model.js";
import { connectMcpServer } from "../../src/tools/mcp/index.js";
import { collect } from "../support/agents.js";
import { verifies } from "../verifies.js";

const proven = verifies("COST-5");

function deferredTool(name: string, description: string, more: Partial<AnyTool> = {}): AnyTool {
  return {
    name,
    description,
    input: { type: "object", properties: { id: { type: "integer" } }, required: ["id"], additionalProperties: false },
    defer: true,
    execute: ({ id }: { id: number }) => `${name} ${id}`,
    ...more,
  };
}

/** 60 tools of three servers. */
const many = ["billing", "tickets", "wiki"].flatMap((server) =>
  ["create", "close", "list", "delete"].flatMap((verb) =>
    ["invoice", "comment", "page", "customer", "refund"].map((noun) =>
      deferredTool(`${server}_${verb}_${noun}`, `Can ${verb} a ${noun} of ${server}.`),
    ),
  ),
);

const here = defineTool({
  name: "here",
  description: "Is always there.",
  input: { type: "object" },
  execute: () => "yes",
});

/** The script, and the requests that it was sent. */
function scripted(script: Script): { model: ReturnType<typeof createScriptedModel>; requests: ModelRequest[] } {
  const requests: ModelRequest[] = [];
  let index = 0;
  const model = createScriptedModel((request) => {
    requests.push(request);
    const next = Array.isArray(script) ? script[index] : undefined;
    index += 1;
    return next ?? { text: "Done." };
  });
  return { model, requests };
}

const find = (query: string) => ({ calls: [{ name: "find_tools", input: { query } }] });
const call = (name: string, input: Json) => ({ calls: [{ name: "call_tool", input: { name, input } }] });
const last = (requests: readonly ModelRequest[]) => JSON.stringify(requests.at(-1)?.messages.at(-1));

describe("deferred tools", () => {
  test("are found by words, called through call_tool, and the list of tools stays the same array", proven, async () => {
    const { model, requests } = scripted([
      find("make out an invoice for a customer"),
      call("billing_create_invoice", { id: 7 }),
      { text: "Done." },
    ]);
    const agent = createAgent({ model, tools: [here, ...many], toolOutput: null });
    const events = await collect(agent.runStream("Go"));
    expect(requests).toHaveLength(3);
    expect(requests[0]?.tools.map(({ name }) => name)).toEqual(["here", "find_tools", "call_tool"]);
    expect(requests[0]?.tools[1]?.description).toContain(
      "There are 60, among them those of billing (20), tickets (20), wiki (20).",
    );
    for (const { tools } of requests) expect(tools).toBe(requests[0]?.tools);
    const found = events.find(({ type }) => type === "tool_result") as Extract<PublicEvent, { type: "tool_result" }>;
    const lines = String(found.output.type === "text" && found.output.text)
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(lines.length).toBeLessThanOrEqual(8);
    expect(lines.map(({ name }) => name)).toContain("billing_create_invoice");
    expect(lines[0]).toMatchObject({ inputSchema: { type: "object", required: ["id"] } });
    expect(last(requests)).toContain("billing_create_invoice 7");
  });

  test("are themselves in events, permission checks, hooks, the trace and stop conditions", proven, async () => {
    const store = createMemoryStore();
    const seen: string[] = [];
    const { model, requests } = scripted([call("wiki_list_page", { id: 3 })]);
    const agent = createAgent({
      model,
      store,
      tools: many,
      canExecuteTool: ({ tool, toolCall, input }) => {
        expect(toolCall).toMatchObject({ name: tool.name, input });
        seen.push(`permission ${tool.name} ${JSON.stringify(input)}`);
        return { verdict: "allow" };
      },
      hooks: [
        {
          name: "watch",
          beforeToolCall: ({ name, input }) => void seen.push(`before ${name} ${JSON.stringify(input)}`),
          afterToolCall: ({ name }) => void seen.push(`after ${name}`),
        },
      ],
      observers: [
        {
          onTrace: (record) => {
            if (record.type === "step") for (const { name } of record.calls) seen.push(`trace ${name}`);
          },
        },
      ],
    });
    const events = await collect(agent.runStream("Go", { sessionId: "s" }));
    expect(seen.slice(0, 3)).toEqual([
      'before wiki_list_page {"id":3}',
      'permission wiki_list_page {"id":3}',
      "after wiki_list_page",
    ]);
    expect(seen).toContain("trace wiki_list_page");
    expect(events.find(({ type }) => type === "tool_call")).toMatchObject({ name: "wiki_list_page", input: { id: 3 } });
    expect(events.find(({ type }) => type === "tool_result")).toMatchObject({ name: "wiki_list_page" });
    // The model is shown the call as it wrote it.
    expect(JSON.stringify(requests[1]?.messages[1])).toContain('"name":"call_tool"');
    const rebuilt: ModelRequest[] = [];
    for await (const request of modelRequests(store, "s")) rebuilt.push(request);
    expect(rebuilt).toEqual(requests);
  });

  test("ask for approval with the real input, and run after another process is told", proven, async () => {
    const store = createMemoryStore();
    const tools = [deferredTool("billing_charge", "Charges.", { needsApproval: true }), ...many];
    const { model } = scripted([call("billing_charge", { id: 9 })]);
    const first = createAgent({ model, store, tools });
    const waiting = await first.run("Go", { sessionId: "s" });
    expect(waiting).toMatchObject({
      status: "awaiting_human",
      approvals: [{ name: "billing_charge", input: { id: 9 } }],
    });
    await first.shutdown();
    const after = scripted([]);
    const second = createAgent({ model: after.model, store, tools });
    onTestFinished(() => second.shutdown());
    const session = second.session("s");
    const [approval] = waiting.status === "awaiting_human" ? waiting.approvals : [];
    await session.answer(approval?.callKey ?? "", { type: "approve" });
    expect(await session.resume()).toMatchObject({ status: "completed" });
    expect(last(after.requests)).toContain("billing_charge 9");
  });

  test("run if the model calls them by name, and unknown names are told with the nearest", proven, async () => {
    const { model, requests } = scripted([
      { calls: [{ name: "tickets_close_comment", input: { id: 1 } }] },
      call("tickets_close_coment_x", { id: 1 }),
      call("tickets_close_comment", { id: "one" }),
      { calls: [{ name: "call_tool", input: { name: "tickets_close_comment", input: '{"id":4}' } }] },
      { calls: [{ name: "call_tool", input: {} }] },
      find("zzzz qqqq"),
    ]);
    await createAgent({ model, tools: many }).run("Go");
    const results = requests.slice(1).map(({ messages }) => JSON.stringify(messages.at(-1)));
    expect(results[0]).toContain("tickets_close_comment 1");
    expect(results[1]).toMatch(
      /Unknown tool 'tickets_close_coment_x'. The tools are: tickets_close_comment, find_tools, call_tool, read_output, search_output\./,
    );
    expect(results[2]).toMatch(/id/);
    expect(results[3]).toContain("tickets_close_comment 4");
    expect(results[4]).toMatch(/isError":true/);
    expect(results[5]).toMatch(/No tool matches.*Try other words/);
  });

  test("that were found are known after a compaction, in another process, and in a fork", proven, async () => {
    const store = createMemoryStore();
    const { model } = scripted([find("refund"), { text: "Found." }]);
    const first = createAgent({ model, store, tools: many });
    await first.run("Go", { sessionId: "s" });
    for (let turn = 0; turn < 5; turn += 1) await first.run(`More ${turn}`, { sessionId: "s" });
    expect((await first.session("s").compact()).type).toBeDefined();
    await first.shutdown();
    const after = scripted([]);
    const second = createAgent({ model: after.model, store, tools: many });
    const fork = await second.session("s").fork();
    for (const id of ["s", fork.id]) {
      await second.run("And now?", { sessionId: id });
      expect(JSON.stringify(after.requests.at(-1)?.messages)).toMatch(
        /tools found so far: [a-z_, ]*billing_create_refund/,
      );
    }
  });

  test("with auto are deferred together above a tenth of the window, and offered below it", proven, () => {
    const auto = many.map((tool) => ({ ...tool, defer: "auto" as const }));
    const names = (contextWindow: number) =>
      createAgent({
        model: createScriptedModel([]),
        tools: [here, ...auto],
        toolOutput: null,
        compaction: { contextWindow },
      })
        .specifications()
        .map(({ name }) => name);
    expect(names(20_000)).toEqual(["here", "find_tools", "call_tool"]);
    expect(names(1_000_000)).toEqual(["here", ...auto.map(({ name }) => name)]);
  });

  test("cost little, and each request begins with the one before", proven, async () => {
    const replies = [find("close a wiki page"), call("wiki_close_page", { id: 2 }), call("wiki_list_page", { id: 3 })];
    const dollars: number[] = [];
    for (const tools of [many, many.map(({ defer: _, ...tool }) => tool)]) {
      const server = await startBillingServer({
        reply: (index) => replies[index] ?? { text: "Done." },
        minimumTokens: 1,
      });
      onTestFinished(server.close);
      const claude = createAnthropic({ baseURL: server.baseURL, apiKey: "sk-test" })("claude-sonnet-5");
      await createAgent({ model: claude, tools, repairToolCall: null }).run("Go");
      const bills = server.ledger.flatMap((bill) => (bill.refused === undefined ? [bill] : []));
      expect(bills).toHaveLength(4);
      for (const [index, bill] of bills.slice(1).entries()) expect(beginsWith(bill, bills[index] as Bill)).toBe(true);
      dollars.push(bills.reduce((sum, bill) => sum + billed(bill), 0));
    }
    expect(dollars[0]).toBeLessThan((dollars[1] ?? 0) / 2);
  });

  test("of an MCP server are found and called", proven, async () => {
    const server = await connectMcpServer({
      name: "s",
      transport: {
        type: "stdio",
        command: process.execPath,
        args: [resolve("test/fixtures/mcp-server.mjs"), "hostile"],
      },
      trust: "all",
      defer: true,
    });
    onTestFinished(server.close);
    const { model, requests } = scripted([find("echo"), call("s_echo", { a: 5 })]);
    await createAgent({ model, tools: server.tools, toolOutput: null }).run("Go");
    expect(requests[0]?.tools.map(({ name }) => name)).toEqual(["find_tools", "call_tool"]);
    expect(JSON.stringify(requests[1]?.messages.at(-1))).toContain("s_echo");
    expect(last(requests)).toContain('{\\"a\\":5}');
    await expect(
      connectMcpServer({ name: "s", transport: { type: "http", url: "http://127.0.0.1:1" }, defer: "yes" as "auto" }),
    ).rejects.toThrow(/defer/);
  });

  test("leave no room for tools of the same names, and agents without them have none of the two", proven, () => {
    const own = { ...here, name: "call_tool" };
    expect(() => createAgent({ model: createScriptedModel([]), tools: [own, ...many] })).toThrow(
      /adds a tool named "call_tool"/,
    );
    const plain = createAgent({ model: createScriptedModel([]), tools: [own] });
    expect(plain.specifications().map(({ name }) => name)).not.toContain("find_tools");
    expect(() => createAgent({ model: createScriptedModel([]), tools: [{ ...here, defer: "yes" as "auto" }] })).toThrow(
      /defer/,
    );
  });
});

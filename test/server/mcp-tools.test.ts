/**
 * Agents as MCP tools with an input of their own.
 */
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { describe, expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { type Agent, createAgent, createMemoryStore, defineTool, textOf } from "../../src/index.js";
import { createServer } from "../../src/server/index.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import { connectMcpServer } from "../../src/tools/mcp/index.js";
import { createPayTool } from "../support/pay-tool.js";
import { verifies } from "../verifies.js";
import { startTestServer } from "./rig.js";

const proven = verifies("PROT-7#tools");

/** An agent that repeats its request. */
function createEcho(name = "orders", store = createMemoryStore()): Agent {
  const model = createScriptedModel(({ messages }) => {
    const [request] = messages.filter(({ role }) => role === "user");
    return { text: request === undefined ? "" : `${name}: ${textOf(request)}` };
  });
  return createAgent({ name, store, model });
}

const findOrder = (agent: Agent) =>
  agent.asTool({
    name: "find_order",
    description: "Finds an order.",
    input: z.object({ order: z.string().min(2), copies: z.number().default(1) }),
    request: ({ order, copies }) => `Find ${order.toUpperCase()} (${copies * 2}).`,
  });

async function connect(agents: readonly Agent[], tools: readonly ReturnType<typeof findOrder>[]) {
  const [first] = agents;
  const store = first?.options.store ?? createMemoryStore();
  const { url, token } = await startTestServer({ store, agents, mcp: { tools } });
  const transport = { type: "http", url: `${url}/mcp`, headers: { authorization: `Bearer ${token}` } } as const;
  const server = await connectMcpServer({ name: "s", trust: "all", transport });
  /** Calls a tool as a model does. */
  const call = async (name: string, input: object) => {
    const model = createScriptedModel([{ calls: [{ name, input: { ...input } }] }, { text: "Done." }]);
    const caller = createAgent({ model, tools: server.tools.map((tool) => ({ ...tool, input: { type: "object" } })) });
    const session = caller.session("caller");
    await caller.run("Go", { sessionId: "caller" });
    const results = (await session.messages()).flatMap(({ role, parts }) => (role === "tool" ? parts : []));
    await server.close();
    return results[0];
  };
  return { server, call };
}

describe("a tool of the option mcp", () => {
  test("has its own name and input, and the agent gets the request that is made of it", proven, async () => {
    const agent = createEcho();
    const { server, call } = await connect([agent], [findOrder(agent)]);
    expect(server.tools).toMatchObject([
      { name: "s_find_order", description: "Finds an order.", input: { properties: { order: { type: "string" } } } },
    ]);
    expect(await call("s_find_order", { order: "a1" })).toMatchObject({
      output: { type: "text", text: "orders: Find A1 (2)." },
    });
  });

  test("can share its agent with other tools", proven, async () => {
    const store = createMemoryStore();
    const agent = createEcho("orders", store);
    const cancel = agent.asTool({
      name: "cancel",
      description: "Cancels.",
      request: () => "Cancel all.",
      input: { type: "object" },
    });
    const { server, call } = await connect([agent, createEcho("hidden", store)], [findOrder(agent), cancel]);
    expect(server.tools.map(({ name }) => name)).toEqual(["s_find_order", "s_cancel"]);
    expect(await call("s_cancel", {})).toMatchObject({ output: { text: "orders: Cancel all." } });
  });

  test("refuses an input that does not match, and no run begins", proven, async () => {
    const agent = createEcho();
    const { call } = await connect([agent], [findOrder(agent)]);
    const result = await call("s_find_order", { order: "a" });
    expect(JSON.stringify(result)).toMatch(/find_order does not match its schema:.*order/);
    expect(await agent.options.store?.list({})).toEqual([]);
  });

  test("makes the request once, and not again when a person has answered a call of its run", proven, async () => {
    const paid: unknown[] = [];
    const store = createMemoryStore();
    const model = createScriptedModel([{ calls: [{ name: "pay", input: { cents: 5 } }] }, { text: "It is paid." }]);
    const agent = createAgent({ name: "payer", store, model, tools: [createPayTool(paid)] });
    const requested: string[] = [];
    const tool = agent.asTool({
      name: "order",
      description: "Orders.",
      input: z.object({ by: z.string().refine(() => requested.length === 0, "This time has passed.") }),
      request({ by }) {
        requested.push(by);
        return `Order by ${by}.`;
      },
    });
    const { url, token } = await startTestServer({
      store,
      agents: [agent],
      mcp: { tools: [tool] },
    });
    const client = new Client(
      { name: "test", version: "0" },
      { capabilities: { elicitation: { form: {} } }, versionNegotiation: { mode: "auto" } },
    );
    client.setRequestHandler("elicitation/create", () => ({ action: "accept", content: { decision: "allow" } }));
    const requestInit = { headers: { authorization: `Bearer ${token}` } };
    await client.connect(new StreamableHTTPClientTransport(new URL("/mcp", url), { requestInit }));
    onTestFinished(() => client.close());
    const result = await client.callTool({ name: "order", arguments: { by: "noon" } });
    expect(result).toMatchObject({ content: [{ text: "It is paid." }] });
    expect(requested).toEqual(["noon"]);
    expect(paid).toHaveLength(1);
  });
});

describe("createServer refuses", () => {
  const agent = createEcho();
  const ordinary = defineTool({ name: "echo", description: "Echoes.", input: z.object({}), execute: () => "" });
  test.each<readonly [string, unknown, RegExp]>([
    ["a tool that is not an agent", { tools: [ordinary] }, /agent of this server as a tool/],
    ["an agent of another server", { tools: [findOrder(createEcho("other"))] }, /"other", which is not among/],
    ["two tools of one name", { tools: [findOrder(agent), findOrder(agent)] }, /named "find_order"/],
    [
      "an approval of the call",
      { tools: [{ ...findOrder(agent), needsApproval: true }] },
      /has needsApproval, which is for the calls of a parent/,
    ],
    ["no list", {}, /must be an array/],
    ["an unknown option", { tools: [], names: [] }, /mcp has no option "names"/],
    [
      "a schema without JSON Schema",
      { tools: [agent.asTool({ description: "x", input: (() => {}) as never, request: () => "" })] },
      /cannot be offered/,
    ],
  ])("%s", proven, (_name, mcp, message) => {
    expect(() =>
      createServer({ store: createMemoryStore(), agents: [agent], token: "t".repeat(22), mcp: mcp as never }),
    ).toThrow(message);
  });
});

/**
 * Deferred tools that the provider loads itself: the real provider packages against servers that bill and refuse as Anthropic
 * and OpenAI document.
 */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { createAnthropic as createAnthropicV4 } from "anthropic-v4";
import { createOpenAI as createOpenAIV4 } from "openai-v4";
import { describe, expect, onTestFinished, test } from "vitest";
import { type Bill, type BillingServer, beginsWith, startBillingServer } from "../../bench/economy/billing-server.mjs";
import { type OpenAiReply, startOpenAiServer } from "../../bench/economy/openai-server.mjs";
import {
  type AgentOptions,
  createAgent,
  createClient,
  createMemoryStore,
  type Json,
  type Model,
  type ModelDelta,
  type ModelRequest,
  type PublicEvent,
  type Store,
} from "../../src/index.js";
import { modelRequests, traceSession } from "../../src/inspect.js";
import type { LanguageModel } from "../../src/models/ai-sdk/language-model.js";
import { findToolLoading } from "../../src/models/ai-sdk/tool-loading.js";
import { fromAiSdk } from "../../src/models/index.js";
import type { AnyTool } from "../../src/ports/tool.js";
import { verifies } from "../verifies.js";
import { bills } from "./bills.js";

const proven = verifies("COST-5");

const apiKey = "sk-test";
type Body = { readonly [key: string]: Json };
type Create = (baseURL: string, modelId?: string) => LanguageModel;
type Named = readonly (readonly [name: string, create: Create])[];

const claudes: Named = [
  ["@ai-sdk/anthropic v3", (baseURL, id = "claude-sonnet-5") => createAnthropic({ baseURL, apiKey })(id)],
  ["@ai-sdk/anthropic v4", (baseURL, id = "claude-sonnet-5") => createAnthropicV4({ baseURL, apiKey })(id)],
];
const gpts: Named = [
  ["@ai-sdk/openai v3", (baseURL, id = "gpt-6-sol") => createOpenAI({ baseURL, apiKey })(id)],
  ["@ai-sdk/openai v4", (baseURL, id = "gpt-6-sol") => createOpenAIV4({ baseURL, apiKey })(id)],
];
const claude = claudes[0]?.[1] as Create;
const gpt = gpts[0]?.[1] as Create;

const tools: readonly AnyTool[] = ["billing", "tickets", "wiki"].flatMap((server) =>
  ["create", "close", "list"].flatMap((verb) =>
    ["invoice", "comment", "page"].map((noun) => ({
      name: `${server}_${verb}_${noun}`,
      description: `Can ${verb} a ${noun} of ${server}. ${"It checks who asks. ".repeat(10)}`,
      input: { type: "object", properties: { id: { type: "integer" } }, required: ["id"] } as const,
      defer: true,
      execute: ({ id }: { readonly id: number }) => `${verb} ${noun} ${id} ${"… ".repeat(400)}`,
    })),
  ),
);

const systemPrompt = "You keep the books of a company. ".repeat(200);

type Step = OpenAiReply;
const call = (name: string, input: Json): Step => ({ calls: [{ name, input }] });
const task = (find: Step): readonly Step[] => [
  find,
  call("billing_create_invoice", { id: 7 }),
  call("tickets_close_comment", { id: 8 }),
  { text: "Done." },
];
const findByFunction = call("find_tools", { query: "create invoice" });
const findBySearch: Step = { search: { query: "create invoice" } };

async function claudeServer(replies: readonly Step[], more: object = {}): Promise<BillingServer> {
  const reply = (index: number) => replies[index] ?? { text: "Done." };
  const server = await startBillingServer({ reply, minimumTokens: 1, ...more });
  onTestFinished(server.close);
  return server;
}

async function gptServer(replies: readonly Step[], more: object = {}): Promise<BillingServer> {
  const server = await startOpenAiServer({ reply: (index) => replies[index] ?? { text: "Done." }, ...more });
  onTestFinished(server.close);
  return server;
}

function expectGrowing(all: readonly Bill[]): void {
  for (const [index, bill] of all.slice(1).entries()) {
    const before = all[index] as Bill;
    expect(beginsWith(bill, before)).toBe(true);
    // OpenAI reads in steps of 128 tokens.
    expect(bill.read).toBeGreaterThan(before.total - 128);
  }
}

type SentTool = Body & { readonly name: string; readonly defer_loading?: boolean };
const toolsOf = ({ body }: Bill) => (body.tools ?? []) as unknown as readonly SentTool[];

/** All objects in a request with this type. */
function blocks(body: unknown, type: string): readonly Body[] {
  if (typeof body !== "object" || body === null) return [];
  const inner = Object.values(body).flatMap((value) => blocks(value, type));
  return (body as Body).type === type ? [body as Body, ...inner] : inner;
}

async function rebuilt(store: Store, sessionId: string): Promise<readonly ModelRequest[]> {
  const all: ModelRequest[] = [];
  for await (const request of modelRequests(store, sessionId)) all.push(request);
  return all;
}

/** The model, and the requests that it got. */
function watched(languageModel: LanguageModel): { readonly model: Model; readonly requests: readonly ModelRequest[] } {
  const requests: ModelRequest[] = [];
  const inner = fromAiSdk(languageModel);
  const model: Model = {
    ...inner,
    stream(request, signal) {
      requests.push(request);
      return inner.stream(request, signal);
    },
  };
  return { model, requests };
}

async function warningsOf(agent: ReturnType<typeof createAgent>, sessionId: string): Promise<readonly string[]> {
  const found: string[] = [];
  for await (const event of agent.session(sessionId).events({ follow: false }))
    if (event.type === "step_finished") found.push(...(event.warnings ?? []));
  return found;
}

function names(events: readonly PublicEvent[]): readonly string[] {
  return events.flatMap((event) => (event.type === "tool_call" ? [event.name] : []));
}

describe.each(claudes)("%s", (_name, create) => {
  test("loads deferred tools by reference, and all of each request is read from the cache", proven, async () => {
    const server = await claudeServer(task(findByFunction));
    const store = createMemoryStore();
    const { model, requests } = watched(create(server.baseURL));
    const agent = createAgent({ model, store, systemPrompt, tools, toolOutput: null });
    const { sessionId, status } = await agent.run("Bill the customer.");
    expect(status).toBe("completed");
    const all = bills(server);
    expect(all).toHaveLength(4);
    expectGrowing(all);
    for (const bill of all) {
      expect(toolsOf(bill).map(({ name }) => name)).toEqual(["find_tools", ...tools.map(({ name }) => name)]);
      expect(toolsOf(bill).map((tool) => tool.defer_loading === true)).toEqual([false, ...tools.map(() => true)]);
      expect(toolsOf(bill)[0]).toHaveProperty("cache_control");
    }
    const references = blocks(all.at(-1)?.body.messages, "tool_reference").map((block) => block.tool_name);
    expect(references).toHaveLength(8);
    expect(references).toContain("billing_create_invoice");
    expect(blocks(all.at(-1)?.body.messages, "tool_use").map((block) => block.name)).toEqual([
      "find_tools",
      "billing_create_invoice",
      "tickets_close_comment",
    ]);
    const events: PublicEvent[] = [];
    for await (const item of agent.session(sessionId).events({ follow: false }))
      if (item.type === "tool_call") events.push(item);
    expect(names(events)).toEqual(["find_tools", "billing_create_invoice", "tickets_close_comment"]);

    // The log has the deferred tools, so what was sent can be made again from it.
    expect(await rebuilt(store, sessionId)).toEqual(requests);
    const offered = await createClient({ store }).session(sessionId).tools();
    expect(offered.filter(({ defer }) => defer === true)).toHaveLength(tools.length);
    const steps = (await traceSession(store, sessionId)).flatMap((one) => (one.type === "step" ? [one] : []));
    expect(steps.map(({ reused }) => reused.broke)).toEqual(steps.map(() => undefined));
  });

  test("sends the same in another process, in a fork and in a replay", proven, async () => {
    const server = await claudeServer([...task(findByFunction), { text: "Yes." }, { text: "Yes." }]);
    const store = createMemoryStore();
    const parts = { store, systemPrompt, tools };
    const first = createAgent({ ...parts, model: create(server.baseURL) });
    const { sessionId } = await first.run("Bill the customer.");
    await first.shutdown();
    const second = createAgent({ ...parts, model: create(server.baseURL) });
    onTestFinished(() => second.shutdown());
    const fork = await second.session(sessionId).fork();
    await second.run("And now?", { sessionId });
    await second.run("And now?", { sessionId: fork.id });
    const [before, resumed, forked] = bills(server).slice(3) as [Bill, Bill, Bill];
    for (const bill of [resumed, forked]) {
      expect(beginsWith(bill, before)).toBe(true);
      expect(bill.read).toBeGreaterThanOrEqual(before.total);
    }
    expect((await second.session(sessionId).replay()).difference).toBeNull();
  });
});

describe.each(gpts)("%s", (_name, create) => {
  test("loads deferred tools by its own search tool, and the list of tools stays small", proven, async () => {
    const server = await gptServer(task(findBySearch));
    const store = createMemoryStore();
    const { model, requests } = watched(create(server.baseURL));
    const agent = createAgent({ model, store, systemPrompt, tools, toolOutput: null });
    const events: PublicEvent[] = [];
    const stream = agent.runStream("Bill the customer.", { sessionId: "s" });
    for await (const item of stream) if (item.type === "tool_call") events.push(item);
    const all = bills(server);
    expect(all).toHaveLength(4);
    expectGrowing(all);
    for (const bill of all)
      expect(toolsOf(bill)).toEqual([
        {
          type: "tool_search",
          execution: "client",
          description: expect.stringContaining("There are 27"),
          parameters: expect.objectContaining({ required: ["query"] }),
        },
      ]);
    const [output] = blocks(all.at(-1)?.body.input, "tool_search_output");
    const found = output?.tools as unknown as readonly SentTool[];
    expect(found).toHaveLength(8);
    expect(found.find(({ name }) => name === "billing_create_invoice")).toEqual({
      type: "function",
      name: "billing_create_invoice",
      description: tools[0]?.description,
      parameters: tools[0]?.input,
      strict: false,
      defer_loading: true,
    });
    expect(names(events)).toEqual(["find_tools", "billing_create_invoice", "tickets_close_comment"]);
    expect(events.find(({ type }) => type === "tool_call")).toMatchObject({ input: { query: "create invoice" } });
    expect(await rebuilt(store, "s")).toEqual(requests);
  });

  test("sends whole items to a server that keeps none, and an empty list for a search that fails", proven, async () => {
    const server = await gptServer([{ search: {} }, findBySearch, { text: "Done." }]);
    const agent = createAgent({ model: create(server.baseURL), systemPrompt, tools });
    const options = { providerOptions: { openai: { store: false } } };
    expect(await agent.run("Bill the customer.", options)).toMatchObject({ status: "completed" });
    const { input } = bills(server).at(-1)?.body ?? {};
    expect(blocks(input, "tool_search_call")).toMatchObject([
      { id: "tsc_0", execution: "client", arguments: {} },
      { id: "tsc_1", execution: "client", arguments: { query: "create invoice" } },
    ]);
    expect(blocks(input, "tool_search_output").map((item) => (item.tools as readonly Json[]).length)).toEqual([0, 8]);
  });

  test("goes on with a conversation of Claude, and Claude with one of its", proven, async () => {
    const anthropic = await claudeServer([findByFunction, { text: "Found." }, { text: "Yes." }]);
    const openai = await gptServer([findBySearch, { text: "Found again." }]);
    const store = createMemoryStore();
    const models = { gpt: fromAiSdk(create(openai.baseURL)), claude: fromAiSdk(claude(anthropic.baseURL)) };
    const agent = createAgent({ model: models.claude, models, store, systemPrompt, tools });
    for (const model of ["claude", "gpt", "claude"] as const) await agent.run("Go on.", { sessionId: "s", model });
    expect(blocks(bills(openai).at(-1)?.body.input, "function_call")).toMatchObject([{ name: "find_tools" }]);
    expect(blocks(bills(openai).at(-1)?.body.input, "tool_search_output")).toHaveLength(1);
    expect(blocks(bills(anthropic).at(-1)?.body, "tool_reference")).toHaveLength(16);
  });
});

describe("deferred tools go through call_tool", () => {
  /** What the request of a model has. */
  async function form(
    server: BillingServer,
    options: Partial<AgentOptions> & Pick<AgentOptions, "model">,
  ): Promise<{ readonly sent: readonly string[]; readonly isLoading: boolean }> {
    await createAgent({ tools, toolOutput: null, ...options }).run("Go");
    const [bill] = bills(server) as [Bill];
    const isLoading = toolsOf(bill).some((tool) => tool.defer_loading === true || tool.type === "tool_search");
    return {
      sent: toolsOf(bill).flatMap(({ name, defer_loading }) => (defer_loading === true ? [] : [name])),
      isLoading,
    };
  }
  const plain = { sent: ["find_tools", "call_tool"], isLoading: false };

  test.each(["claude-sonnet-4-0", "claude-opus-4-1", "claude-3-haiku-20240307", "some-model"])(
    "for %s, which is not known to load tools",
    proven,
    async (modelId) => {
      const server = await claudeServer([]);
      expect(await form(server, { model: claude(server.baseURL, modelId) })).toEqual(plain);
    },
  );

  test("for OpenAI models before GPT-5.4, and for its chat completions", proven, async () => {
    const server = await gptServer([]);
    expect(await form(server, { model: gpt(server.baseURL, "gpt-5.1") })).toEqual(plain);
    expect(findToolLoading(createOpenAI({ apiKey }).chat("gpt-6-sol"))).toBe(null);
  });

  test("above a megabyte of schemas", proven, async () => {
    const server = await claudeServer([]);
    const large = tools.map((tool) => ({ ...tool, description: "word ".repeat(8_000) }));
    expect(await form(server, { model: claude(server.baseURL), tools: large })).toEqual(plain);
  });

  test("if a tool has examples of inputs, and find_tools shows them", proven, async () => {
    const server = await claudeServer([findByFunction]);
    const withExamples = tools.map((tool) => ({ ...tool, inputExamples: [{ id: 12_345 }] }));
    expect(await form(server, { model: claude(server.baseURL), tools: withExamples })).toEqual(plain);
    expect(JSON.stringify(bills(server).at(-1)?.body.messages)).toContain("12345");
  });

  test("if the run forces call_tool", proven, async () => {
    const server = await claudeServer([]);
    const agent = createAgent({ model: claude(server.baseURL), tools, toolOutput: null });
    await agent.run("Go", { toolChoice: { tool: "call_tool" } });
    expect(toolsOf(bills(server)[0] as Bill).map(({ name }) => name)).toEqual(plain.sent);
  });

  test.each([
    ["Anthropic's format", claude, claudeServer, "tools.1.custom.defer_loading: Extra inputs are not permitted"],
    ["OpenAI's format", gpt, gptServer, "Invalid value: 'tool_search'. Supported values are: 'function'."],
  ] as const)(
    "after a refusal by a server with %s, which a warning reports",
    proven,
    async (_name, create, start, why) => {
      const isLoading = (body: Body) =>
        JSON.stringify(body.tools).includes('"defer_loading"') || JSON.stringify(body.tools).includes("tool_search");
      const server = await start([], { refuse: (body: Body) => (isLoading(body) ? why : null) });
      const agent = createAgent({ model: create(server.baseURL), systemPrompt, tools, toolOutput: null });
      const { sessionId, status } = await agent.run("Go");
      expect(status).toBe("completed");
      await agent.run("And now?", { sessionId });
      expect(server.ledger.map(({ refused }) => refused !== undefined)).toEqual([true, false, false]);
      expect(await warningsOf(agent, sessionId)).toContain(
        "defer: the provider refused to load deferred tools, so in this process the model calls them through call_tool",
      );
    },
  );

  test("for a fallback that loads none, in a step that was prepared for a model that does", proven, async () => {
    const server = await claudeServer([], { refuse: () => "overloaded" });
    const requests: ModelRequest[] = [];
    const fallback: Model = {
      id: "other",
      async *stream(request): AsyncGenerator<ModelDelta> {
        requests.push(request);
        yield { kind: "done", finishReason: { unified: "stop" }, usage: {} };
      },
    };
    const agent = createAgent({ model: claude(server.baseURL), fallbacks: [fallback], tools, toolOutput: null });
    await agent.run("Go");
    expect(requests.length).toBeGreaterThan(0);
    for (const request of requests) expect(request.tools.map(({ name }) => name)).toEqual(plain.sent);
  });
});

test("deferred tools that the provider loads do not count as part of the context", proven, async () => {
  const server = await claudeServer([]);
  const large = tools.map((tool) => ({ ...tool, description: "word ".repeat(2_000) }));
  const agent = createAgent({ model: claude(server.baseURL), tools: large, compaction: { contextWindow: 20_000 } });
  const { sessionId } = await agent.run("Go");
  expect(await agent.run("Go on", { sessionId })).toMatchObject({ status: "completed" });
  expect(bills(server)).toHaveLength(2);
  for (const bill of bills(server)) expect(toolsOf(bill).some((tool) => tool.defer_loading === true)).toBe(true);
});

test("an author's mark on a deferred tool is left out, and a tool that the author defers gets none of Pawl's", async () => {
  const server = await claudeServer([]);
  const cacheControl = { type: "ephemeral" };
  const marked = tools.map((tool) => ({ ...tool, providerOptions: { anthropic: { cacheControl } } }));
  await createAgent({ model: claude(server.baseURL), systemPrompt, tools: marked }).run("Go");
  const own: AnyTool = {
    ...(tools[0] as AnyTool),
    defer: false,
    providerOptions: { anthropic: { deferLoading: true } },
  };
  const here: AnyTool = { ...own, name: "here", providerOptions: {} };
  await createAgent({ model: claude(server.baseURL), systemPrompt, tools: [here, own], toolOutput: null }).run("Go");
  const [, second] = bills(server) as [Bill, Bill];
  expect(toolsOf(second).map((tool) => "cache_control" in tool)).toEqual([true, false]);
});

test("references are to tools that the request has: one that the agent no longer has is left out", proven, async () => {
  const server = await claudeServer([findByFunction, { text: "Found." }, { text: "Yes." }]);
  const store = createMemoryStore();
  await createAgent({ model: claude(server.baseURL), store, tools }).run("Go", { sessionId: "s" });
  const fewer = tools.filter(({ name }) => name !== "billing_create_invoice");
  await createAgent({ model: claude(server.baseURL), store, tools: fewer }).run("Go", { sessionId: "s" });
  expect(blocks(bills(server).at(-1)?.body, "tool_reference")).toHaveLength(7);
});

test("the Claude models that load tools are those of the provider package's documentation", () => {
  const require = createRequire(import.meta.url);
  const folder = require.resolve("anthropic-v4/package.json").replace(/package\.json$/, "");
  const page = readFileSync(`${folder}docs/05-anthropic.mdx`, "utf8");
  const rows = [...page.matchAll(/^\| `(claude-[^`]+)`(.*)\|$/gm)].map(([, id = "", cells = ""]) => ({
    id,
    loads: cells.split("|")[6]?.includes("Check") === true,
  }));
  expect(rows.length).toBeGreaterThan(10);
  for (const { id, loads } of rows)
    expect([id, findToolLoading({ provider: "anthropic.messages", modelId: id })]).toEqual([
      id,
      loads ? "tool_reference" : null,
    ]);
  expect(findToolLoading({ provider: "anthropic.messages", modelId: "claude-haiku-4-5-20251001" })).toBe(
    "tool_reference",
  );
  expect(findToolLoading({ provider: "openai.responses", modelId: "gpt-5.4-2026-03-05" })).toBe("tool_search");
  for (const provider of ["googleVertex.anthropic.messages", "bedrock.anthropic.messages", "openai.responses"])
    expect(findToolLoading({ provider, modelId: "claude-sonnet-5" })).toBe(null);
});

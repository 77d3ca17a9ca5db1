/**
 * Prompt caches, with the real provider packages: against a server that bills prompts as Anthropic documents, and against
 * servers that keep what they were sent.
 */
import { createAmazonBedrock } from "@ai-sdk/amazon-bedrock";
import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { createAnthropic as createAnthropicV4 } from "anthropic-v4";
import { createOpenAI as createOpenAIV4 } from "openai-v4";
import { describe, expect, onTestFinished, test } from "vitest";
import {
  type BillingServer,
  beginsWith,
  billed,
  type ScriptedReply,
  startBillingServer,
} from "../../bench/economy/billing-server.mjs";
import {
  type Agent,
  type AgentOptions,
  createAgent,
  createMemoryStore,
  defineTool,
  type Hook,
  type ModelCallChange,
  type PromptCache,
  type PublicEvent,
  type Store,
} from "../../src/index.js";
import { traceSession } from "../../src/inspect.js";
import type { LanguageModel } from "../../src/models/ai-sdk/language-model.js";
import { fromAiSdk } from "../../src/models/index.js";
import { createTestClock } from "../../src/testing/test-clock.js";
import { verifies } from "../verifies.js";
import { bills } from "./bills.js";
import { type Body, startWireServer } from "./wire-server.js";
import { responses } from "./wires.js";

const apiKey = "sk-test";

type Claude = (baseURL: string) => LanguageModel;
const claudes: readonly (readonly [name: string, create: Claude])[] = [
  ["@ai-sdk/anthropic v3", (baseURL) => createAnthropic({ baseURL, apiKey })("claude-sonnet-5")],
  ["@ai-sdk/anthropic v4", (baseURL) => createAnthropicV4({ baseURL, apiKey })("claude-sonnet-5")],
];
const claude = claudes[0]?.[1] as Claude;

/** Long enough to be cached. */
const systemPrompt = "You keep the minutes of a meeting. ".repeat(200);

const note = defineTool({
  name: "note",
  description: "Writes a line down.",
  input: { type: "object", properties: { line: { type: "string" } }, required: ["line"] },
  execute: ({ line }) => `Noted: ${String(line)} ${"… ".repeat(300)}`,
});

/** So many calls in a row, then a text, again and again. */
function notes(count: number): (index: number) => ScriptedReply {
  return (index) =>
    (index + 1) % (count + 1) === 0
      ? { text: "All is written down." }
      : { text: "One more.", calls: [{ name: "note", input: { line: `line ${index}` } }] };
}

async function start(options: Partial<Parameters<typeof startBillingServer>[0]> = {}): Promise<BillingServer> {
  const server = await startBillingServer({ reply: notes(8), ...options });
  onTestFinished(server.close);
  return server;
}

function marksIn(body: Body): readonly unknown[] {
  const found: unknown[] = [];
  JSON.stringify(body, (key, value) => {
    if (key === "cache_control" || key === "cachePoint") found.push(value);
    return value;
  });
  return found;
}

describe.each(claudes)("%s", (_name, create) => {
  test("every request reads all of the request before from the cache", verifies("COST-1", "COST-3"), async () => {
    const server = await start();
    const agent = createAgent({ model: create(server.baseURL), systemPrompt, tools: [note] });
    const { sessionId, status } = await agent.run("Begin.");
    expect(status).toBe("completed");
    await agent.run("Go on.", { sessionId });

    const all = bills(server);
    expect(all).toHaveLength(18);
    for (const [index, bill] of all.entries()) {
      expect(bill.full).toBe(0);
      expect(bill.marks).toBeLessThanOrEqual(4);
      const before = all[index - 1];
      if (before === undefined) continue;
      expect(beginsWith(bill, before)).toBe(true);
      expect(bill.read).toBe(before.total);
    }
  });

  test("a session that another process carries on reads what the first one wrote", verifies("COST-3"), async () => {
    const server = await start();
    const store = createMemoryStore();
    const parts = { systemPrompt, tools: [note], store };
    const first = await createAgent({ ...parts, model: create(server.baseURL) }).run("Begin.");
    await createAgent({ ...parts, model: create(server.baseURL) }).run("Go on.", { sessionId: first.sessionId });
    const all = bills(server);
    expect(all[9]?.read).toBe(all[8]?.total);
  });

  test("a compaction reads the conversation from the cache", verifies("COST-3"), async () => {
    const summary = { text: "## Keep\n- minutes\n\n## Summary\nLines were written down." };
    const server = await start({
      reply: (index, { messages }) =>
        JSON.stringify((messages as readonly unknown[]).at(-1)).includes("about to be shortened")
          ? summary
          : notes(14)(index),
    });
    const agent = createAgent({
      model: create(server.baseURL),
      systemPrompt,
      tools: [note],
      compaction: { contextWindow: 8_000 },
    });
    const stream = agent.runStream("Begin.");
    for await (const item of stream) if (item.type === "compacted") expect(item).toHaveProperty("summary");
    const all = bills(server);
    const asked = all.flatMap(({ body }, index) =>
      JSON.stringify(body).includes("about to be shortened") ? index : [],
    );
    expect(asked.length).toBeGreaterThan(0);
    for (const index of asked) {
      const [before, bill] = [all[index - 1], all[index]];
      expect(bill?.read).toBe(before?.total);
      expect((bill?.read ?? 0) / (bill?.total ?? 1)).toBeGreaterThan(0.7);
    }
  });

  test("a second session of an agent reads its tools and its system prompt", async () => {
    const server = await start({ reply: () => ({ text: "Yes." }) });
    const agent = createAgent({ model: create(server.baseURL), systemPrompt, tools: [note] });
    await agent.run("Is it on?");
    await agent.run("Is it off?");
    const [first, second] = bills(server);
    expect(first?.read).toBe(0);
    expect(second?.read).toBeGreaterThan(1024);
  });

  test("many parallel calls stay within what a read looks back on, however positions are counted", async () => {
    for (const positions of ["runs", "blocks"] as const) {
      const calls = Array.from({ length: 26 }, (_, index) => ({ name: "note", input: { line: `${index}` } }));
      const server = await start({ positions, reply: (index) => (index < 3 ? { calls } : { text: "Done." }) });
      await createAgent({ model: create(server.baseURL), systemPrompt, tools: [note] }).run("Begin.");
      const all = bills(server);
      for (const [index, bill] of all.entries()) if (index > 0) expect(bill.read).toBe(all[index - 1]?.total);
    }
  });
});

const lifetimes: readonly (readonly [PromptCache, unknown])[] = [
  ["auto", { type: "ephemeral" }],
  ["5m", { type: "ephemeral" }],
  ["1h", { type: "ephemeral", ttl: "1h" }],
];

test.each(lifetimes)("promptCache %j marks with its lifetime", async (promptCache, mark) => {
  const server = await start();
  await createAgent({ model: claude(server.baseURL), systemPrompt, tools: [note], promptCache }).run("Begin.");
  for (const { body } of bills(server))
    expect(new Set(marksIn(body).map((one) => JSON.stringify(one)))).toEqual(new Set([JSON.stringify(mark)]));
});

test.each(["5m", "1h"] as const)(
  "the cost of a session with promptCache %j is what the provider bills",
  async (promptCache) => {
    const server = await start();
    const agent = createAgent({ model: claude(server.baseURL), systemPrompt, tools: [note], promptCache });
    const { usage } = await agent.run("Begin.");
    // claude-sonnet-5: $2 for a million tokens of plain input, $10 for a million tokens of output.
    const inputUsd = bills(server).reduce((sum, bill) => sum + billed(bill) * 2, 0) / 1_000_000;
    expect(usage.costUsd).toBeCloseTo(inputUsd + (9 * 50 * 10) / 1_000_000, 9);
  },
);

test("promptCache off sends what is sent without a prompt cache", verifies("COST-1"), async () => {
  const [off, on] = [await start(), await start()];
  const parts = { systemPrompt, tools: [note] };
  await createAgent({ ...parts, model: claude(off.baseURL), promptCache: "off" }).run("Begin.");
  await createAgent({ ...parts, model: claude(on.baseURL) }).run("Begin.");
  expect(bills(off).flatMap(({ body }) => marksIn(body))).toEqual([]);
  expect(bills(off).map(({ blocks }) => blocks)).toEqual(bills(on).map(({ blocks }) => blocks));
});

test("a model's own promptCache takes precedence over its agent's", async () => {
  const server = await start();
  const model = fromAiSdk(claude(server.baseURL), { promptCache: "off" });
  await createAgent({ model, systemPrompt, tools: [note], promptCache: "1h" }).run("Begin.");
  expect(bills(server).flatMap(({ body }) => marksIn(body))).toEqual([]);
});

test("the cache lasts an hour from the second pause of more than five minutes on", async () => {
  const clock = createTestClock();
  const server = await start({ now: clock.now, reply: () => ({ text: "Yes." }) });
  const agent = createAgent({ model: claude(server.baseURL), systemPrompt, tools: [note], clock });
  const { sessionId } = await agent.run("One?");
  for (const input of ["Two?", "Three?", "Four?"]) {
    await clock.advance(8 * 60_000);
    await agent.run(input, { sessionId });
  }
  const all = bills(server);
  expect(all.map(({ written1h }) => written1h > 0)).toEqual([false, false, true, true]);
  expect(all[3]?.read).toBe(all[2]?.total);
});

test("a request that nothing is likely to continue marks only its system prompt", async () => {
  const server = await start({ reply: () => ({ text: "Yes." }) });
  await createAgent({ model: claude(server.baseURL), systemPrompt }).run("Is it on?");
  const [bill] = bills(server);
  expect(bill?.marks).toBe(1);
  expect(bill?.written5m).toBeGreaterThan(0);
  expect(bill?.full).toBeGreaterThan(0);
});

test("an author's own marks are the only ones", verifies("COST-1"), async () => {
  const server = await start();
  const agent = createAgent({ model: claude(server.baseURL), systemPrompt, tools: [note] });
  const cacheControl = { type: "ephemeral", ttl: "1h" };
  await agent.run([{ type: "text", text: "Begin.", providerMetadata: { anthropic: { cacheControl } } }]);
  for (const { body } of bills(server)) expect(marksIn(body)).toEqual([{ type: "ephemeral", ttl: "1h" }]);
});

test(
  "a provider that refuses cache options is asked again without them, and a warning says so",
  verifies("COST-1"),
  async () => {
    const refuse = (body: Body) =>
      marksIn(body).length > 0 ? "system.0.cache_control: Extra inputs are not permitted" : null;
    const server = await start({ refuse });
    const agent = createAgent({ model: claude(server.baseURL), systemPrompt, tools: [note] });
    const { sessionId, ...result } = await agent.run("Begin.");
    expect(result.status).toBe("completed");
    expect(server.ledger.filter(({ refused }) => refused !== undefined)).toHaveLength(1);
    const warnings: string[] = [];
    for await (const event of agent.session(sessionId).events({ follow: false }))
      if (event.type === "step_finished") warnings.push(...(event.warnings ?? []));
    expect(warnings.some((warning) => warning.startsWith("promptCache: the provider refused"))).toBe(true);
  },
);

const keyed: readonly (readonly [name: string, create: (baseURL: string) => LanguageModel])[] = [
  ["@ai-sdk/openai v3", (baseURL) => createOpenAI({ baseURL, apiKey })("gpt-6-sol")],
  ["@ai-sdk/openai v4", (baseURL) => createOpenAIV4({ baseURL, apiKey })("gpt-6-sol")],
];

test.each(keyed)(
  "%s gets the same key in all requests of a session, and another one in another session",
  async (_name, create) => {
    const yes = responses("r", [
      {
        type: "message",
        id: "m",
        role: "assistant",
        status: "completed",
        content: [{ type: "output_text", text: "Yes.", annotations: [] }],
      },
    ]);
    const server = await startWireServer([yes, yes, yes]);
    const agent = createAgent({ model: create(`${server.origin}/v1`), tools: [note] });
    const { sessionId } = await agent.run("One?");
    await agent.run("Two?", { sessionId });
    await agent.run("Three?");
    const [first, second, third] = server.bodies.map((body) => body.prompt_cache_key);
    expect(first).toMatch(/^pawl-[0-9a-f]{32}$/);
    expect(second).toBe(first);
    expect(third).not.toBe(first);
  },
);

test("Bedrock gets cache points for Claude, and none for other models", async () => {
  const bodyFor = async (modelId: string) => {
    const server = await startWireServer([{ status: 400, contentType: "application/json", body: '{"message":"no"}' }]);
    const bedrock = createAmazonBedrock({ baseURL: server.origin, region: "us-east-1", apiKey });
    await createAgent({ model: bedrock(modelId), systemPrompt, tools: [note] }).run("Begin.");
    return server.bodies[0] ?? {};
  };
  expect(marksIn(await bodyFor("us.anthropic.claude-sonnet-5-v1:0"))).toEqual([
    { type: "default" },
    { type: "default" },
  ]);
  expect(marksIn(await bodyFor("amazon.nova-pro-v1:0"))).toEqual([]);
});

test.each([
  ["xai.responses", "grok-5", { xai: { promptCacheKey: expect.stringMatching(/^pawl-/), own: 1 } }],
  ["gateway", "anthropic/claude-sonnet-5", { gateway: { caching: "auto" }, xai: { own: 1 } }],
  ["google.generative-ai", "gemini-3-pro", { xai: { own: 1 } }],
])("%s is asked for its cache in the provider's own way", async (provider, modelId, expected) => {
  const sent: unknown[] = [];
  const model: LanguageModel = {
    specificationVersion: "v3",
    provider,
    modelId,
    doStream(options: { readonly providerOptions?: unknown }) {
      sent.push(options.providerOptions);
      return Promise.reject(new Error("not there"));
    },
  };
  await createAgent({ model, retry: { maxRetries: 0 } }).run("Hello", { providerOptions: { xai: { own: 1 } } });
  expect(sent).toEqual([expected]);
});

describe("what broke the cache is named", () => {
  type Cache = NonNullable<Extract<PublicEvent, { type: "step_finished" }>["cache"]>;

  async function cacheOf(agent: Agent, sessionId: string): Promise<readonly Cache[]> {
    const found: Cache[] = [];
    for await (const event of agent.session(sessionId).events({ follow: false }))
      if (event.type === "step_finished" && event.cache !== undefined) found.push(event.cache);
    return found;
  }

  /** The breaks of a session, in the events and in the trace, which must agree. */
  async function breaksOf(agent: Agent, store: Store, sessionId: string) {
    const cache = await cacheOf(agent, sessionId);
    const steps = (await traceSession(store, sessionId)).flatMap((record) => (record.type === "step" ? [record] : []));
    expect(steps.map(({ reused }) => reused.broke)).toEqual(cache.map(({ broke }) => broke));
    return cache.map(({ broke }) => broke ?? null);
  }

  async function play(hook: NonNullable<Hook["beforeLLMCall"]>, options: Partial<AgentOptions> = {}) {
    const server = await start();
    const store = createMemoryStore();
    const other = defineTool({ ...note, name: "other" });
    const agent = createAgent({
      model: claude(server.baseURL),
      models: { other: claude(server.baseURL) },
      systemPrompt,
      tools: [note, other],
      hooks: [{ name: "change", beforeLLMCall: hook }],
      store,
      ...options,
    });
    const { sessionId } = await agent.run("Begin.");
    return { breaks: await breaksOf(agent, store, sessionId), cache: await cacheOf(agent, sessionId), server };
  }

  const atStep =
    (step: number, change: ModelCallChange): NonNullable<Hook["beforeLLMCall"]> =>
    ({ modelCallIndex }) =>
      modelCallIndex >= step ? change : undefined;

  test.each<[string, ModelCallChange]>([
    ["tools", { activeTools: ["note"] }],
    ["system_prompt", { systemPrompt: systemPrompt.replace("minutes", "notes") }],
    ["tool_choice", { toolChoice: { tool: "note" } }],
  ])("%s, by a change in step 4", async (broke, change) => {
    const { breaks } = await play(atStep(4, change), { limits: { maxSteps: 6, onMaxSteps: "stop" } });
    expect(breaks).toEqual([null, null, null, broke, null, null]);
  });

  test("messages, by a list in place of the conversation", async () => {
    const { breaks } = await play(
      ({ modelCallIndex, messages }) => (modelCallIndex === 4 ? { messages: messages.slice(-2) } : undefined),
      { limits: { maxSteps: 5, onMaxSteps: "stop" } },
    );
    expect(breaks.slice(0, 4)).toEqual([null, null, null, "messages"]);
  });

  test("nothing, in a session that only grows; and what could be read is what the call before read and wrote", async () => {
    const { breaks, cache } = await play(() => undefined);
    expect(new Set(breaks)).toEqual(new Set([null]));
    for (const [index, { expected, read }] of cache.entries()) {
      const before = cache[index - 1];
      expect(expected).toBe(before === undefined ? undefined : before.read + before.written);
      if (before !== undefined) expect(read).toBe(expected);
    }
  });

  test("time, after a pause that the cache did not outlast; and a provider that has lost it", async () => {
    const clock = createTestClock();
    let offset = 0;
    const server = await start({ now: () => clock.now() + offset, reply: () => ({ text: "Yes." }) });
    const store = createMemoryStore();
    const agent = createAgent({ model: claude(server.baseURL), systemPrompt, tools: [note], clock, store });
    const { sessionId } = await agent.run("One?");
    await clock.advance(8 * 60_000);
    await agent.run("Two?", { sessionId });
    offset = 8 * 60_000;
    await agent.run("Three?", { sessionId });
    expect(await breaksOf(agent, store, sessionId)).toEqual([null, "time", "unknown"]);
  });

  test("compaction, after one", async () => {
    const server = await start({
      reply: (index, { messages }) =>
        JSON.stringify((messages as readonly unknown[]).at(-1)).includes("about to be shortened")
          ? { text: "## Summary\nLines were written down." }
          : notes(12)(index),
    });
    const store = createMemoryStore();
    const agent = createAgent({
      model: claude(server.baseURL),
      systemPrompt,
      tools: [note],
      store,
      compaction: { contextWindow: 8_000 },
    });
    const { sessionId } = await agent.run("Begin.");
    const breaks = await breaksOf(agent, store, sessionId);
    expect(new Set(breaks)).toEqual(new Set([null, "compaction"]));
  });
});

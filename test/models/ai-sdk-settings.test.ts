/**
 * Settings on their way to the providers: the real packages send each, or say that they cannot.
 */
import { afterEach, describe, expect, test } from "vitest";
import { createAgent, type ModelSettings } from "../../src/index.js";
import { toCallSettings } from "../../src/models/ai-sdk/call-settings.js";
import { toProviderSettings } from "../../src/models/ai-sdk/provider-settings.js";
import { fromAiSdk } from "../../src/models/index.js";
import { collect, createEchoTool, filterEventsOfType } from "../support/agents.js";
import { verifies } from "../verifies.js";
import { type ProviderServer, startProviderServer } from "./provider-server.js";
import { realProviders } from "./real-providers.js";
import { createFinishPart, createStreamingV3 } from "./stream-parts.js";

const settings: Required<ModelSettings> = {
  temperature: 0.125,
  topP: 0.375,
  topK: 17,
  maxOutputTokens: 12_345,
  stopSequences: ["STOP-HERE"],
  seed: 4_242,
  presencePenalty: 0.625,
  frequencyPenalty: 0.875,
  reasoning: "low",
  parallelToolCalls: false,
};

/** What stands for a setting that a package translates. */
const translated: { readonly [name: string]: readonly string[] } = {
  maxOutputTokens: ["max_tokens"],
  reasoning: ["budget_tokens", "thinkingBudget", "thinkingLevel", '"effort"', "reasoning_effort"],
  parallelToolCalls: ["parallel_tool_calls", "disable_parallel_tool_use"],
};

const servers: ProviderServer[] = [];
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close()));
});

describe.each(realProviders)("$name", (provider) => {
  test("each setting is sent, or a warning names it", verifies("LOOP-16"), async () => {
    const server = await startProviderServer(provider.format, [{ type: "answer", text: "Done." }]);
    servers.push(server);
    const model = provider.create({ baseURL: server.baseURL, apiKey: "sk-test" });
    const items = await collect(
      createAgent({ model: fromAiSdk(model), settings, tools: [createEchoTool().tool] }).runStream("Go"),
    );
    const [step] = filterEventsOfType(items, "step_finished");
    expect(step).toBeDefined();
    const sent = JSON.stringify(server.requests[0]?.body);
    const warnings = (step?.warnings ?? []).join("\n");
    for (const [name, value] of Object.entries(settings)) {
      const words = [String(Array.isArray(value) ? value[0] : value), ...(translated[name] ?? [])];
      const isSent = words.some((word) => sent.includes(word));
      expect(isSent || warnings.includes(name), `${name} is neither in ${sent} nor in ${warnings}`).toBe(true);
    }
    // Both specifications of a package are told how much the model is to think.
    expect(warnings).not.toMatch(/^reasoning:/m);
  });

  test("no word on parallel calls without tools, because providers refuse it", async () => {
    const server = await startProviderServer(provider.format, [{ type: "answer", text: "Done." }]);
    servers.push(server);
    const model = provider.create({ baseURL: server.baseURL, apiKey: "sk-test" });
    await createAgent({ model: fromAiSdk(model), settings: { parallelToolCalls: false } }).run("Go");
    expect(JSON.stringify(server.requests[0]?.body)).not.toMatch(/parallel/);
  });

  test("no setting, no field and no warning", verifies("LOOP-16"), async () => {
    const server = await startProviderServer(provider.format, [{ type: "answer", text: "Done." }]);
    servers.push(server);
    const model = provider.create({ baseURL: server.baseURL, apiKey: "sk-test" });
    const items = await collect(createAgent({ model: fromAiSdk(model) }).runStream("Go"));
    expect(filterEventsOfType(items, "step_finished")[0]).not.toHaveProperty("warnings");
  });
});

test("every setting has its place in both specifications", verifies("LOOP-16"), () => {
  const { parallelToolCalls: _parallel, ...inV4 } = settings;
  const { reasoning: _, ...others } = inV4;
  expect(toCallSettings(settings, "v4")).toEqual(inV4);
  expect(toCallSettings(settings, "v3")).toEqual(others);
  expect(toCallSettings({}, "v4")).toEqual({});
});

describe("what a package has an option for", () => {
  const told = (provider: string, modelId: string, own: ModelSettings, specificationVersion: "v3" | "v4" = "v3") =>
    toProviderSettings(own, { specificationVersion, provider, modelId }, true);
  const high = { reasoning: "high" } as const;

  test.each([
    ["openai.responses", "gpt-5", { openai: { reasoningEffort: "high" } }],
    ["azure.responses", "my-deployment", { openai: { reasoningEffort: "high" } }],
    ["anthropic.messages", "claude-sonnet-4-5", { anthropic: { thinking: { type: "enabled", budgetTokens: 16_384 } } }],
    [
      "anthropic.messages",
      "claude-sonnet-4-20250514",
      { anthropic: { thinking: { type: "enabled", budgetTokens: 16_384 } } },
    ],
    ["anthropic.messages", "claude-opus-4-7", { anthropic: { thinking: { type: "adaptive" }, effort: "high" } }],
    ["anthropic.messages", "claude-sonnet-5-5", { anthropic: { thinking: { type: "adaptive" }, effort: "high" } }],
    ["gateway", "anthropic/claude-opus-5", { anthropic: { thinking: { type: "adaptive" }, effort: "high" } }],
    [
      "amazon-bedrock",
      "us.anthropic.claude-opus-4-1-20250805-v1:0",
      { bedrock: { reasoningConfig: { type: "enabled", budgetTokens: 16_384 } } },
    ],
    ["google.generative-ai", "gemini-2.5-flash", { google: { thinkingConfig: { thinkingBudget: 16_384 } } }],
    ["google.vertex.chat", "gemini-3-pro", { google: { thinkingConfig: { thinkingLevel: "high" } } }],
    ["groq.chat", "qwen3-32b", { groq: { reasoningEffort: "high" } }],
    ["xai.chat", "grok-4", { xai: { reasoningEffort: "high" } }],
    ["mistral.chat", "magistral-medium", { mistral: { reasoningEffort: "high" } }],
    ["deepseek.chat", "deepseek-v4", { deepseek: { reasoningEffort: "high" } }],
    ["openrouter.chat", "moonshotai/kimi-k2", { openrouter: { reasoning: { effort: "high" } } }],
    ["vllm.chat", "qwen3", { vllm: { reasoningEffort: "high" } }],
  ])("reasoning, %s, %s", (provider, modelId, options) => {
    expect(told(provider, modelId, high)).toEqual({ options, warnings: [] });
    expect(told(provider, modelId, high, "v4")).toEqual({ options: {}, warnings: [] });
    expect(told(provider, modelId, { reasoning: "provider-default" })).toEqual({ options: {}, warnings: [] });
  });

  test.each([
    ["cohere.chat", "command-r"],
    ["google.generative-ai", "gemma-3"],
    ["anthropic.messages", "claude-3-5-haiku-latest"],
    ["somebody", "a-model"],
  ])("no option for reasoning, %s, %s: a warning says so", (provider, modelId) => {
    const { options, warnings } = told(provider, modelId, high);
    expect(options).toEqual({});
    expect(warnings).toEqual([expect.stringMatching(`^reasoning: the package of ${provider} .*no effect$`)]);
  });

  test("a package without the option warns the process once, and each step", async () => {
    const seen: string[] = [];
    const listen = ({ message }: Error) => void seen.push(message);
    process.on("warning", listen);
    const parts = [
      { type: "text-start", id: "1" },
      { type: "text-delta", id: "1", delta: "Hi." },
      { type: "text-end", id: "1" },
      createFinishPart(),
    ] as const;
    const doStream = (options: never) => createStreamingV3(parts).model.doStream(options);
    const model = fromAiSdk({ specificationVersion: "v3", provider: "somebody", modelId: "m", doStream });
    const agent = createAgent({ model, settings: high });
    for (const _ of [1, 2]) {
      const items = await collect(agent.runStream("Go"));
      expect(filterEventsOfType(items, "step_finished")[0]?.warnings).toEqual([expect.stringContaining("reasoning: ")]);
    }
    await new Promise((resolve) => setImmediate(resolve));
    process.off("warning", listen);
    expect(seen.filter((message) => message.startsWith("reasoning: "))).toHaveLength(1);
  });

  test("a caller's own options take precedence, and keep what they say besides", async () => {
    const server = await startProviderServer("google-generate-content", [
      { type: "answer", text: "Done." },
      { type: "answer", text: "Done." },
    ]);
    servers.push(server);
    const google = realProviders.find(({ name }) => name === "@ai-sdk/google v3");
    const model = google?.create({ baseURL: server.baseURL, apiKey: "sk-test" }) as Parameters<typeof fromAiSdk>[0];
    const runWith = (thinkingConfig: object) =>
      createAgent({
        model: fromAiSdk(model, { providerOptions: { google: { thinkingConfig } as never } }),
        settings: high,
      }).run("Go");
    await runWith({ includeThoughts: true });
    await runWith({ thinkingBudget: 7 });
    const [both, own] = server.requests.map(({ body }) => body.generationConfig);
    expect(both).toMatchObject({ thinkingConfig: { includeThoughts: true, thinkingBudget: 16_384 } });
    expect(own).toMatchObject({ thinkingConfig: { thinkingBudget: 7 } });
  });
});

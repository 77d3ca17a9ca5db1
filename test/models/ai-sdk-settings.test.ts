/**
 * Settings on their way to the providers: the real packages send each, or say that they cannot.
 */
import { afterEach, describe, expect, test } from "vitest";
import { createAgent, type ModelSettings } from "../../src/index.js";
import { settingsOf, unsentSettings } from "../../src/models/ai-sdk/settings.js";
import { fromAiSdk } from "../../src/models/index.js";
import { collect, ofType } from "../support/agents.js";
import { verifies } from "../verifies.js";
import { type ProviderServer, startProviderServer } from "./provider-server.js";
import { realProviders } from "./real-providers.js";

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
};

/** What stands for a setting that a package translates. */
const translated: { readonly [name: string]: readonly string[] } = {
  maxOutputTokens: ["max_tokens"],
  reasoning: ["budget_tokens", "thinkingBudget"],
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
    const items = await collect(createAgent({ model: fromAiSdk(model), settings }).runStream("Go"));
    const [step] = ofType(items, "step_finished");
    expect(step).toBeDefined();
    const sent = JSON.stringify(server.requests[0]?.body);
    const warnings = (step?.warnings ?? []).join("\n");
    for (const [name, value] of Object.entries(settings)) {
      const words = [String(Array.isArray(value) ? value[0] : value), ...(translated[name] ?? [])];
      const isSent = words.some((word) => sent.includes(word));
      expect(isSent || warnings.includes(name), `${name} is neither in ${sent} nor in ${warnings}`).toBe(true);
    }
    // How much a model thinks is a setting of specification v4 alone.
    expect(warnings.includes("reasoning: specification v3")).toBe(provider.specification === "v3");
  });

  test("no setting, no field and no warning", verifies("LOOP-16"), async () => {
    const server = await startProviderServer(provider.format, [{ type: "answer", text: "Done." }]);
    servers.push(server);
    const model = provider.create({ baseURL: server.baseURL, apiKey: "sk-test" });
    const items = await collect(createAgent({ model: fromAiSdk(model) }).runStream("Go"));
    expect(ofType(items, "step_finished")[0]).not.toHaveProperty("warnings");
  });
});

test("every setting has its place in both specifications", verifies("LOOP-16"), () => {
  expect(settingsOf(settings, "v4")).toEqual(settings);
  const { reasoning: _, ...others } = settings;
  expect(settingsOf(settings, "v3")).toEqual(others);
  expect(settingsOf({}, "v4")).toEqual({});
  expect(unsentSettings({ reasoning: "provider-default" }, "v3")).toEqual([]);
  expect(unsentSettings(settings, "v4")).toEqual([]);
});

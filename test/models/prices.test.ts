/**
 * What model calls cost, through an agent: with the generated table, the lists kept by hand above it, and an author's own prices.
 */
import { execFileSync } from "node:child_process";
import { calcPrice } from "@pydantic/genai-prices";
import { describe, expect, test } from "vitest";
import { createAgent, type Usage } from "../../src/index.js";
import { listPrices, priceLists } from "../../src/models/index.js";
import { createScriptedModel } from "../../src/testing/index.js";
import { verifies } from "../verifies.js";

const proven = verifies("COST-4");

/** A request above the long-context tiers, with reads, and writes of both lifetimes. */
const usage: Usage = {
  inputTokens: 300_000,
  outputTokens: 5_000,
  cacheReadTokens: 100_000,
  cacheWriteTokens: 50_000,
  cacheWrite1hTokens: 20_000,
};
const short: Usage = { inputTokens: 1_000, outputTokens: 200, cacheReadTokens: 400 };

async function costOf(id: string, used: Usage): Promise<number | undefined> {
  const scripted = createScriptedModel([{ text: "Done.", usage: used }]);
  const agent = createAgent({ model: { ...scripted, id } });
  return (await agent.run("Go")).usage.costUsd;
}

const packageNames: { readonly [provider: string]: string } = { "amazon-bedrock": "aws", xai: "x-ai" };

function billOf(provider: string, modelId: string, used: Usage, day: string) {
  return calcPrice(
    {
      input_tokens: used.inputTokens,
      output_tokens: used.outputTokens,
      cache_read_tokens: used.cacheReadTokens,
      cache_write_tokens: used.cacheWriteTokens,
      ...(used.cacheWrite1hTokens === undefined ? {} : { cache_write_1h_tokens: used.cacheWrite1hTokens }),
    },
    modelId,
    { providerId: packageNames[provider] ?? provider, timestamp: new Date(day) },
  );
}

describe("the generated table", () => {
  const generated = priceLists.filter(({ source }) => source.includes("genai-prices"));
  const ids = generated.flatMap(({ prices }) => Object.keys(prices));

  test("has several hundred models of a dozen providers, with the day and the page that they are from", proven, () => {
    expect(ids.length).toBeGreaterThan(400);
    expect(generated.length).toBeGreaterThan(10);
    for (const { asOf, source } of generated) {
      expect(asOf).toMatch(/^\d{4}-\d{2}-\d{2}$/);
      expect(source).toMatch(/^https:\/\//);
    }
    for (const id of ids) expect(listPrices[id]?.input ?? 0, id).toBeGreaterThanOrEqual(0);
    expect(ids.filter((id) => listPrices[id]?.input === 0 && listPrices[id]?.output === 0)).toEqual([]);
  });

  test("is what its package gives", proven, () => {
    execFileSync(process.execPath, ["scripts/prices.mjs", "--check"], { stdio: "pipe" });
  });

  test.each([
    ["a long request with writes of both lifetimes", usage],
    ["a short request", short],
  ])("bills %s as the package itself does", proven, async (_, used) => {
    const byHand = priceLists.filter((list) => !generated.includes(list)).flatMap(({ prices }) => Object.keys(prices));
    const compared: string[] = [];
    for (const { provider, asOf, prices } of generated)
      for (const id of Object.keys(prices)) {
        const modelId = id.slice(provider.length + 1);
        const { cacheWrite1hTokens, ...ofMinutes } = used;
        const billed = billOf(provider, modelId, ofMinutes, asOf);
        // The package's matching by beginnings may find another model: then there is nothing to compare with.
        if (byHand.includes(id) || billed?.model.id !== modelId) continue;
        compared.push(id);
        expect(await costOf(id, ofMinutes), id).toBeCloseTo(billed.total_price, 8);
        if (billed.model_price.cache_write_1h_mtok === undefined) continue;
        expect(await costOf(id, used), id).toBeCloseTo(billOf(provider, modelId, used, asOf)?.total_price ?? 0, 8);
      }
    expect(compared.length).toBeGreaterThan(200);
  });
});

test("a model whose id only begins like a known one has no price", proven, async () => {
  expect(await costOf("anthropic/claude-sonnet-5", short)).toBeGreaterThan(0);
  expect(await costOf("anthropic/claude-sonnet-5-9", short)).toBeUndefined();
  expect(() =>
    createAgent({
      model: { ...createScriptedModel([]), id: "anthropic/claude-sonnet-5-9" },
      limits: { maxCostUsd: 1 },
    }),
  ).toThrow(/has no price/);
});

test("the lists kept by hand win over the generated table, and an author's prices over both", proven, async () => {
  // The package gives this model's reads the price of claude-sonnet-5: 0.2.
  expect(
    await costOf("anthropic/claude-sonnet-5-5", {
      inputTokens: 1_000_000,
      outputTokens: 0,
      cacheReadTokens: 1_000_000,
    }),
  ).toBe(0.1);
  const scripted = createScriptedModel([{ text: "Done.", usage: short }]);
  const prices = { ...listPrices, "openai/gpt-5.4": { input: 1_000, output: 0 } };
  const agent = createAgent({ model: { ...scripted, id: "openai/gpt-5.4" }, usage: { prices } });
  expect((await agent.run("Go")).usage.costUsd).toBe(1);
});

test("a model of the generated table is compacted by its own context window", proven, async () => {
  const purposes: (string | undefined)[] = [];
  const scripted = createScriptedModel(({ purpose }) => {
    purposes.push(purpose);
    return { text: "Done.", usage: { inputTokens: 7_000, outputTokens: 10 } };
  });
  async function talk(id: string): Promise<readonly (string | undefined)[]> {
    purposes.length = 0;
    const agent = createAgent({ model: { ...scripted, id } });
    for (let count = 1; count <= 7; count += 1) await agent.run(`${count} ${"word ".repeat(500)}`, { sessionId: "s" });
    return [...purposes];
  }
  expect(await talk("moonshotai/moonshot-v1-8k")).toContain("compaction");
  expect(await talk("moonshotai/moonshot-v1-128k")).not.toContain("compaction");
});

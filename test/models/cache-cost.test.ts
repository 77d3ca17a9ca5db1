/**
 * What a prompt cache saved and what its break cost, by list prices and by an author's own.
 */
import { describe, expect, test } from "vitest";
import type { Usage } from "../../src/index.js";
import type { TraceRecordOf } from "../../src/inspect.js";
import { cacheLoss, costOfCall, listPrices, savedByCache } from "../../src/models/index.js";
import { verifies } from "../verifies.js";

const sonnet = "anthropic/claude-sonnet-5";
const proven = verifies("COST-2", "COST-4");

function step(usage: Usage, reused: Partial<TraceRecordOf<"step">["reused"]>, model = sonnet) {
  const attempt = { attempt: 1, model, startedAt: 0, durationMs: 1, usage } as const;
  return { reused: { messages: 0, prompt: true, tools: true, ...reused }, attempts: [attempt] };
}

describe("savedByCache", proven, () => {
  test("is the difference to the cost of the same call without a cache", () => {
    const usage = { inputTokens: 1_000_000, outputTokens: 10, cacheReadTokens: 900_000, cacheWriteTokens: 100_000 };
    const plain = costOfCall(sonnet, { inputTokens: 1_000_000, outputTokens: 10 }) ?? Number.NaN;
    const cached = costOfCall(sonnet, usage) ?? Number.NaN;
    expect(savedByCache(sonnet, usage)).toBeCloseTo(plain - cached, 9);
    expect(savedByCache(sonnet, usage)).toBeCloseTo(1.57, 9);
    expect(savedByCache(sonnet, { ...usage, costUsd: cached })).toBeCloseTo(1.57, 9);
  });

  test("is negative for writes alone, more so if they last an hour", () => {
    const usage = { inputTokens: 1_000_000, outputTokens: 0, cacheWriteTokens: 1_000_000 };
    expect(savedByCache(sonnet, usage)).toBeCloseTo(-0.5, 9);
    expect(savedByCache(sonnet, { ...usage, cacheWrite1hTokens: 1_000_000 })).toBeCloseTo(-2, 9);
  });

  test("is unknown for a model without a price, and for a call that was charged by other prices", () => {
    const usage = { inputTokens: 1_000, outputTokens: 0, cacheReadTokens: 900 };
    expect(savedByCache("own/model", usage)).toBeUndefined();
    expect(savedByCache(sonnet, { ...usage, costUsd: 7 })).toBeUndefined();
    const prices = { ...listPrices, "own/model": { input: 1_000, output: 1, cacheRead: 100 } };
    expect(savedByCache("own/model", usage, prices)).toBeCloseTo(0.81, 9);
    expect(savedByCache("own/model", { inputTokens: 1_000, outputTokens: 0 })).toBe(0);
  });
});

describe("cacheLoss", proven, () => {
  const usage = { inputTokens: 120_000, outputTokens: 10, cacheReadTokens: 20_000, cacheWriteTokens: 100_000 };

  test("prices the tokens that could have been read: as writes of their lifetime, or as plain input", () => {
    const reused = { expected: 100_000, broke: "time" } as const;
    // $2.50, $4 and $2 a million instead of $0.20.
    const loss = { broke: "time", model: sonnet, tokens: 80_000 };
    expect(cacheLoss(step(usage, reused))).toEqual({ ...loss, costUsd: 0.184 });
    expect(cacheLoss(step({ ...usage, cacheWrite1hTokens: 100_000 }, reused))).toEqual({ ...loss, costUsd: 0.304 });
    expect(cacheLoss(step({ ...usage, cacheWriteTokens: 0 }, reused))).toEqual({ ...loss, costUsd: 0.144 });
  });

  test("counts no more tokens than the request had", () => {
    const shorter = { ...usage, inputTokens: 30_000, cacheReadTokens: 5_000, cacheWriteTokens: 25_000 };
    expect(cacheLoss(step(shorter, { expected: 100_000, broke: "messages" }))).toMatchObject({ tokens: 25_000 });
  });

  test("leaves out what is unknown", () => {
    expect(cacheLoss(step(usage, { broke: "compaction" }))).toEqual({ broke: "compaction", model: sonnet });
    const lost = cacheLoss(step(usage, { broke: "tools", expected: 100_000 }, "own/model"));
    expect(lost).toEqual({ broke: "tools", model: "own/model", tokens: 80_000 });
    const free = cacheLoss(step({ ...usage, costUsd: 0 }, { broke: "tools", expected: 100_000 }));
    expect(free).toEqual({ broke: "tools", model: sonnet, tokens: 80_000 });
  });

  test("is null if the cache held, was not asked for, or is not reported", () => {
    const broke = { broke: "tools", expected: 100_000 } as const;
    expect(cacheLoss(step(usage, { expected: 100_000 }))).toBeNull();
    expect(cacheLoss({ ...step(usage, broke), promptCache: "off" })).toBeNull();
    expect(cacheLoss(step({ inputTokens: 120_000, outputTokens: 10 }, broke))).toBeNull();
  });
});

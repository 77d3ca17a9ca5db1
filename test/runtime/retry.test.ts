import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { ModelFailure, ModelFailureKind } from "../../src/core/data/message.js";
import type { RetryOptions } from "../../src/ports/retry.js";
import { createRetryPolicy } from "../../src/runtime/model/retry.js";
import { verifies } from "../verifies.js";

function failure(kind: ModelFailureKind, more: Partial<ModelFailure> = {}): ModelFailure {
  return { kind, message: "It failed.", ...more };
}

/** The longest wait: no jitter. */
const whole = () => 1;

describe("what is retried", () => {
  test.each(["rate_limit", "overloaded", "timeout", "network"] as const)("%s", verifies("RTRY-2"), (kind) => {
    expect(createRetryPolicy({}, whole).decide(failure(kind), 1, 0)).toEqual({ retryInMs: 2_000 });
  });

  test.each([500, 502, 503, 504, 529])("provider with status %i", verifies("RTRY-2"), (statusCode) => {
    const decision = createRetryPolicy({}, whole).decide(failure("provider", { statusCode }), 1, 0);
    expect(decision).toEqual({ retryInMs: 2_000 });
  });

  test.each([501, 505, 520, undefined])("not provider with status %s", verifies("RTRY-2"), (statusCode) => {
    const status = statusCode === undefined ? {} : { statusCode };
    expect(createRetryPolicy().decide(failure("provider", status), 1, 0)).toHaveProperty("giveUp");
  });

  test.each(["context_overflow", "quota", "auth", "invalid_request", "content_filter", "cancelled"] as const)(
    "never %s, whatever its status and the wait it asks for",
    verifies("RTRY-2"),
    (kind) => {
      const decision = createRetryPolicy().decide(failure(kind, { statusCode: 503, retryAfterMs: 1 }), 1, 0);
      expect(decision).toEqual({ giveUp: expect.any(String) });
    },
  );
});

describe("waits", () => {
  test("double from 2 s to 30 s, five times at most", verifies("RTRY-2"), () => {
    const policy = createRetryPolicy({}, whole);
    const waits = [1, 2, 3, 4, 5].map((attempt) => policy.decide(failure("network"), attempt, 0));
    expect(waits).toEqual([2_000, 4_000, 8_000, 16_000, 30_000].map((retryInMs) => ({ retryInMs })));
    expect(policy.decide(failure("network"), 6, 0)).toEqual({
      giveUp: "It failed 6 times; the limit is 5 retries.",
    });
  });

  test("are cut by up to half at random", verifies("RTRY-2"), () => {
    fc.assert(
      fc.property(fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), fc.nat(4), (chance, attempt) => {
        const longest = Math.min(30_000, 2_000 * 2 ** attempt);
        const decision = createRetryPolicy({}, () => chance).decide(failure("timeout"), attempt + 1, 0);
        if (!("retryInMs" in decision)) throw new Error(decision.giveUp);
        expect(decision.retryInMs).toBeGreaterThanOrEqual(longest / 2);
        expect(decision.retryInMs).toBeLessThanOrEqual(longest);
      }),
    );
  });

  test.each([0, 1, 7_000, 60_000])("Retry-After of %i ms is kept to", verifies("RTRY-2"), (retryAfterMs) => {
    const policy = createRetryPolicy();
    expect(policy.decide(failure("rate_limit", { retryAfterMs }), 1, 0)).toEqual({ retryInMs: retryAfterMs });
    expect(policy.decide(failure("provider", { statusCode: 503, retryAfterMs }), 1, 0)).toEqual({
      retryInMs: retryAfterMs,
    });
  });

  test.each([60_001, 864_000_000])("Retry-After of %i ms gives up at once", verifies("RTRY-2"), (retryAfterMs) => {
    const policy = createRetryPolicy();
    expect(policy.decide(failure("rate_limit", { retryAfterMs }), 1, 0)).toHaveProperty("giveUp");
    expect(policy.decide(failure("provider", { statusCode: 503, retryAfterMs }), 1, 0)).toHaveProperty("giveUp");
  });

  test("the reason says how long was asked for", () => {
    expect(createRetryPolicy().decide(failure("rate_limit", { retryAfterMs: 864_000_000 }), 1, 0)).toEqual({
      giveUp: "The provider asks to wait 864000 s, which is longer than the limit of 60 s.",
    });
  });
});

describe("options", () => {
  test("adjust count, times and statuses", verifies("RTRY-2"), () => {
    const options: RetryOptions = { maxRetries: 1, baseDelayMs: 10, maxDelayMs: 15, statusCodes: [520] };
    const policy = createRetryPolicy({ ...options, maxRetries: 2 }, whole);
    expect(policy.decide(failure("network"), 1, 0)).toEqual({ retryInMs: 10 });
    expect(policy.decide(failure("network"), 2, 0)).toEqual({ retryInMs: 15 });
    expect(policy.decide(failure("provider", { statusCode: 520 }), 1, 0)).toEqual({ retryInMs: 10 });
    expect(policy.decide(failure("provider", { statusCode: 500 }), 1, 0)).toHaveProperty("giveUp");
    expect(createRetryPolicy(options, whole).decide(failure("network"), 2, 0)).toHaveProperty("giveUp");
  });

  test("no retries at all", () => {
    expect(createRetryPolicy({ maxRetries: 0 }).decide(failure("network"), 1, 0)).toEqual({
      giveUp: "It failed once; the limit is 0 retries.",
    });
  });

  test.each([{ maxRetries: -1 }, { baseDelayMs: Number.NaN }, { maxDelayMs: Number.POSITIVE_INFINITY }])(
    "%o is refused",
    (options) => {
      expect(() => createRetryPolicy(options)).toThrow(expect.objectContaining({ code: "bad_configuration" }));
    },
  );
});

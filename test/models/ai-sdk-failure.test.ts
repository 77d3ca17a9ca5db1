import { APICallError, InvalidResponseDataError, JSONParseError, LoadAPIKeyError } from "@ai-sdk/provider";
import fc from "fast-check";
import { APICallError as APICallErrorV4 } from "provider-v4";
import { describe, expect, test } from "vitest";
import type { ModelFailureKind } from "../../src/core/data/message.js";
import { toModelFailure } from "../../src/models/ai-sdk/failure.js";
import { verifies } from "../verifies.js";

type Answer = {
  readonly status?: number;
  readonly body?: unknown;
  readonly headers?: Record<string, string>;
  readonly message?: string;
  readonly cause?: unknown;
};

function answered({ status, body, headers, message = "Something", cause }: Answer): APICallError {
  return new APICallError({
    message,
    url: "https://api.example.com/v1/chat?key=AIzaSyA1234567890abcdefghij",
    requestBodyValues: { secret: "the-request" },
    ...(status !== undefined && { statusCode: status }),
    ...(headers !== undefined && { responseHeaders: headers }),
    ...(body !== undefined && { responseBody: typeof body === "string" ? body : JSON.stringify(body) }),
    cause,
  });
}

function withCode(message: string, code: string): Error {
  return Object.assign(new Error(message), { code });
}

describe("an HTTP status", () => {
  const statuses: readonly (readonly [number, ModelFailureKind])[] = [
    [400, "invalid_request"],
    [401, "auth"],
    [402, "quota"],
    [403, "auth"],
    [404, "invalid_request"],
    [408, "timeout"],
    [409, "invalid_request"],
    [413, "context_overflow"],
    [422, "invalid_request"],
    [429, "rate_limit"],
    [500, "provider"],
    [501, "provider"],
    [502, "provider"],
    [503, "overloaded"],
    [504, "timeout"],
    [524, "timeout"],
    [529, "overloaded"],
  ];
  test.each(statuses)("%i is %s", verifies("RTRY-1"), (status, kind) => {
    expect(toModelFailure(answered({ status }))).toEqual({ kind, statusCode: status, message: expect.any(String) });
  });

  test("of an error of specification v4, and of one of another library", verifies("RTRY-1"), () => {
    const error = new APICallErrorV4({ message: "No", url: "", requestBodyValues: {}, statusCode: 429 });
    expect(toModelFailure(error)).toEqual({ kind: "rate_limit", statusCode: 429, message: "No" });
    expect(toModelFailure(Object.assign(new Error("No"), { status: 429 })).kind).toBe("rate_limit");
  });
});

describe("a documented code decides before the status", () => {
  const bodies: readonly (readonly [string, number, unknown, ModelFailureKind])[] = [
    [
      "a used-up quota",
      429,
      { error: { message: "m", type: "insufficient_quota", code: "insufficient_quota" } },
      "quota",
    ],
    ["a limit per minute", 429, { error: { message: "m", type: "tokens", code: "rate_limit_exceeded" } }, "rate_limit"],
    [
      "a long prompt",
      400,
      { error: { message: "m", type: "invalid_request_error", code: "context_length_exceeded" } },
      "context_overflow",
    ],
    [
      "a long prompt for llama.cpp",
      400,
      { error: { message: "m", type: "exceed_context_size_error", code: 400 } },
      "context_overflow",
    ],
    [
      "a request of too many bytes",
      413,
      { type: "error", error: { type: "request_too_large", message: "m" } },
      "context_overflow",
    ],
    ["an overload reported as 500", 500, { type: "overloaded_error", message: "Overloaded" }, "overloaded"],
    [
      "a bad key reported as 400",
      400,
      { error: { code: 400, message: "m", status: "INVALID_ARGUMENT", details: [{ reason: "API_KEY_INVALID" }] } },
      "auth",
    ],
    [
      "a quota of the day",
      429,
      {
        error: {
          code: 429,
          message: "m",
          status: "RESOURCE_EXHAUSTED",
          details: [{ violations: [{ quotaId: "RequestsPerDay" }] }],
        },
      },
      "quota",
    ],
    [
      "a quota of the minute",
      429,
      {
        error: {
          code: 429,
          message: "m",
          status: "RESOURCE_EXHAUSTED",
          details: [{ violations: [{ quotaId: "RequestsPerMinute" }] }],
        },
      },
      "rate_limit",
    ],
    ["a filtered prompt", 400, { error: { message: "m", code: "content_filter" } }, "content_filter"],
  ];
  test.each(bodies)("%s", verifies("RTRY-1"), (_name, status, body, kind) => {
    expect(toModelFailure(answered({ status, body }))).toMatchObject({ kind, statusCode: status });
  });

  test("and words do, where a provider has no code", verifies("RTRY-1"), () => {
    const sentences = [
      "prompt is too long: 212345 tokens > 200000 maximum",
      "input length and `max_tokens` exceed context limit: 198000 + 8192 > 200000",
      "The input token count (1197285) exceeds the maximum number of tokens allowed (1048576).",
      "This endpoint's maximum context length is 128000 tokens.",
      "the request exceeds the available context size, try increasing it",
    ];
    for (const message of sentences) {
      expect(toModelFailure(answered({ status: 400, body: { error: { message } } })).kind).toBe("context_overflow");
    }
    const limited = answered({ status: 429, body: { error: { message: "maximum context length" } } });
    expect(toModelFailure(limited).kind).toBe("rate_limit");
  });
});

describe("an error inside a stream has no status of its own", () => {
  const parts: readonly (readonly [unknown, ModelFailureKind, number | undefined])[] = [
    [{ type: "overloaded_error", message: "Overloaded" }, "overloaded", 529],
    [{ type: "api_error", message: "Internal" }, "provider", 500],
    [{ type: "invalid_request_error", message: "prompt is too long: 3 tokens > 2 maximum" }, "context_overflow", 400],
    [{ message: "m", type: "server_error", code: "server_error", statusCode: 500, data: {} }, "provider", 500],
    [{ code: 503, message: "m", status: "UNAVAILABLE" }, "overloaded", 503],
    [{ type: "error", error: { type: "rate_limit_error", message: "m" } }, "rate_limit", 429],
    [{ type: "response.failed", response: { error: { code: "server_error", message: "m" } } }, "provider", 500],
    [{ message: "m", code: 502 }, "provider", 502],
    ["out of paper", "provider", undefined],
    [{ error: "out of paper" }, "provider", undefined],
    [null, "provider", undefined],
    [undefined, "provider", undefined],
  ];
  test.each(parts)("%j", verifies("RTRY-1"), (error, kind, statusCode) => {
    const failure = toModelFailure(error);
    expect(failure.kind).toBe(kind);
    expect(failure.statusCode).toBe(statusCode);
    expect(failure.message).not.toBe("");
  });
});

describe("a connection", () => {
  const causes: readonly (readonly [string, ModelFailureKind])[] = [
    ["ECONNREFUSED", "network"],
    ["ECONNRESET", "network"],
    ["ENOTFOUND", "network"],
    ["EAI_AGAIN", "network"],
    ["UND_ERR_SOCKET", "network"],
    ["ETIMEDOUT", "timeout"],
    ["UND_ERR_CONNECT_TIMEOUT", "timeout"],
    ["UND_ERR_HEADERS_TIMEOUT", "timeout"],
  ];
  test.each(causes)("%s", verifies("RTRY-1"), (code, kind) => {
    const failure = toModelFailure(answered({ message: "Cannot connect to API: ", cause: withCode("", code) }));
    expect(failure).toMatchObject({ kind, code });
  });

  test("reset in mid-stream comes with the status of the beginning", verifies("RTRY-1"), () => {
    const cause = new TypeError("terminated", { cause: withCode("other side closed", "UND_ERR_SOCKET") });
    const failure = toModelFailure(answered({ status: 200, message: "Failed to process successful response", cause }));
    expect(failure).toEqual({
      kind: "network",
      code: "UND_ERR_SOCKET",
      message: "The connection to the provider was lost in the middle of its answer (UND_ERR_SOCKET).",
    });
  });

  test.each([
    [new JSONParseError({ text: '{"a', cause: new SyntaxError("Unexpected end") }), "network"],
    [
      new InvalidResponseDataError({ data: undefined, message: "Response stream ended without a finish reason." }),
      "network",
    ],
    [new InvalidResponseDataError({ data: { id: 7 }, message: "Expected 'id' to be a string." }), "provider"],
    [new LoadAPIKeyError({ message: "The key is missing." }), "auth"],
    [new DOMException("The operation timed out.", "TimeoutError"), "timeout"],
    [new DOMException("Aborted.", "AbortError"), "cancelled"],
    [new TypeError("x is not a function"), "provider"],
  ] as const)("%s", verifies("RTRY-1"), (error, kind) => {
    expect(toModelFailure(error).kind).toBe(kind);
  });
});

describe("how long to wait", () => {
  const now = Date.UTC(2026, 10, 21, 12, 0, 0);
  const headers: readonly (readonly [Record<string, string>, number | undefined])[] = [
    [{ "retry-after": "7" }, 7_000],
    [{ "Retry-After": "0" }, 0],
    [{ "retry-after": "1.5" }, 1_500],
    [{ "retry-after-ms": "250", "retry-after": "7" }, 250],
    [{ "retry-after": "Sat, 21 Nov 2026 12:00:30 GMT" }, 30_000],
    [{ "retry-after": "Sat, 21 Nov 2026 11:59:30 GMT" }, undefined],
    [{ "retry-after": "864000" }, 864_000_000],
    [{ "retry-after": "-5" }, undefined],
    [{ "retry-after-ms": "-5", "retry-after": "7" }, 7_000],
    [{ "retry-after": "Infinity" }, undefined],
    [{ "retry-after": "NaN" }, undefined],
    [{ "retry-after": "1e9" }, undefined],
    [{ "retry-after": "soon" }, undefined],
    [{ "retry-after": "" }, undefined],
    [{}, undefined],
  ];
  test.each(headers)("%j", verifies("RTRY-1"), (responseHeaders, wait) => {
    const failure = toModelFailure(answered({ status: 429, headers: responseHeaders }), now);
    expect(failure.retryAfterMs).toBe(wait);
  });

  test("as Google writes it", () => {
    const details = [{ "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "34.5s" }];
    const body = { error: { code: 429, message: "m", status: "RESOURCE_EXHAUSTED", details } };
    expect(toModelFailure(answered({ status: 429, body }))).toMatchObject({ kind: "rate_limit", retryAfterMs: 34_500 });
  });
});

describe("the message", () => {
  test("of a web page is its title", () => {
    const body = "<!DOCTYPE html>\n<html><head><title> 502 Bad Gateway </title></head><body>nginx</body></html>";
    expect(toModelFailure(answered({ status: 502, body, message: "Bad Gateway" }))).toEqual({
      kind: "provider",
      statusCode: 502,
      message: "The provider sent a web page instead of an answer (status 502): 502 Bad Gateway",
    });
  });

  test("is the provider's own, in one line of bounded length", () => {
    const failure = toModelFailure(
      answered({ status: 400, body: { error: { message: `one\n\ttwo ${"x".repeat(5_000)}` } } }),
    );
    expect(failure.message.startsWith("one two xxx")).toBe(true);
    expect(failure.message.length).toBeLessThan(1_000);
  });

  test("holds no keys and no headers", verifies("RTRY-1"), () => {
    const keys = [
      "sk-proj-abcdefghijklmnop",
      "sk-ant-api03-abcdefghijklmnop",
      "AIzaSyA1234567890abcdefghij",
      "gsk_abcdefghijklmnopqrst",
    ];
    for (const key of keys) {
      const said = [`Your key ${key} is bad.`, `Bearer ${key}`, `api_key=${key}`, `Invalid API key: ${key}`];
      for (const message of said) {
        for (const status of [400, 401, 403, 500]) {
          const headers = { authorization: `Bearer ${key}`, "x-api-key": key };
          const failure = toModelFailure(answered({ status, headers, message, body: { error: { message } } }));
          expect(JSON.stringify(failure)).not.toContain(key);
        }
      }
    }
  });

  test("of a refused key never repeats what the provider said", () => {
    const failure = toModelFailure(answered({ status: 401, body: { error: { message: "hunter2 is wrong" } } }));
    expect(failure.message).not.toContain("hunter2");
  });
});

test("nothing that can be thrown throws", () => {
  fc.assert(
    fc.property(fc.anything({ withBigInt: true, withNullPrototype: true, withDate: true }), (thrown) => {
      expect(toModelFailure(thrown).kind).toBeTypeOf("string");
    }),
    { numRuns: 2_000 },
  );
});

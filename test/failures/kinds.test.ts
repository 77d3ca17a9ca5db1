/**
 * Every kind of failure, from what the provider sends to what the result says (docs/model-failures.md): how often the provider was
 * asked, and how long was waited.
 */
import { describe, expect, onTestFinished, test } from "vitest";
import { createAgent, type ModelFailure, type RunResult } from "../../src/index.js";
import { fromAiSdk } from "../../src/models/index.js";
import { createRetryPolicy } from "../../src/runtime/model/retry.js";
import { providerErrors } from "../models/provider-errors.js";
import {
  type FormatName,
  type ProviderServer,
  type ScriptedReply,
  startProviderServer,
} from "../models/provider-server.js";
import { type RealProvider, realProviders } from "../models/real-providers.js";
import { filterEventsOfType } from "../support/agents.js";
import { advanceThroughRetries, createWatchedClock, type WatchedClock } from "../support/clock.js";
import { type DocsPage, expectTable } from "../support/docs-page.js";
import { verifies } from "../verifies.js";

type Kind = ModelFailure["kind"];

type Case = {
  readonly kind: Kind;
  readonly input: string;
  readonly format: FormatName;
  /** The replies in order; the last one again and again. */
  readonly replies: readonly (() => ScriptedReply)[];
  /** The length of a wait depends on when the answer is read. */
  readonly isAbout?: boolean;
  /** What happens once the provider was asked. */
  readonly meanwhile?: (scene: Scene) => Promise<void>;
};

type Scene = {
  readonly server: ProviderServer;
  readonly clock: WatchedClock;
  readonly abort: () => void;
};

type Seen = {
  readonly failures: readonly ModelFailure[];
  readonly waits: readonly number[];
  /** How long the model was listened to in vain. */
  readonly stalledMs: number;
  readonly requests: number;
  readonly result: RunResult;
};

const answer = (): ScriptedReply => ({ type: "answer", text: "An answer." });
const empty = (): ScriptedReply => ({ type: "answer" });
const malformedCall = (): ScriptedReply => ({
  type: "raw",
  status: 200,
  headers: { "content-type": "text/event-stream" },
  body: 'data: {"candidates":[{"content":{"role":"model"},"finishReason":"MALFORMED_FUNCTION_CALL","index":0}]}\n\n',
});
const half = (ending: "reset" | "hang") => (): ScriptedReply => ({
  type: "answer",
  text: "Half of it, and no more than that.",
  ending,
});

/** A documented error, by its name in provider-errors.ts, with headers of its own. */
function documented(format: FormatName, name: string, headers?: () => Readonly<Record<string, string>>) {
  const found = providerErrors[format].find((one) => one.name === name);
  if (found === undefined) throw new Error(`There is no error "${name}" of ${format}.`);
  return (): ScriptedReply => ({ ...found.reply, ...(headers === undefined ? {} : { headers: headers() }) });
}

function always(kind: Kind, input: string, format: FormatName, name: string): Case {
  return { kind, input, format, replies: [documented(format, name, () => ({}))] };
}

function once(kind: Kind, input: string, format: FormatName, reply: () => ScriptedReply): Case {
  return { kind, input, format, replies: [reply, answer] };
}

const anthropic = "anthropic-messages";
const openai = "openai-responses";
const google = "google-generate-content";
const compatible = "openai-chat";

const kinds: readonly Case[] = [
  always("rate_limit", "Anthropic, 429 `rate_limit_error`, always", anthropic, "a limit of tokens"),
  once("rate_limit", "Anthropic, 429 with `Retry-After: 12`", anthropic, documented(anthropic, "a limit of tokens")),
  once("rate_limit", "OpenAI, 429 with `retry-after-ms: 1500`", openai, documented(openai, "a limit of requests")),
  once(
    "rate_limit",
    "Google, 429 with `RetryInfo` of 34 s in the body",
    google,
    documented(google, "a limit of the minute"),
  ),
  {
    ...once(
      "rate_limit",
      "OpenRouter, 429 with a `Retry-After` date, 20 s from now",
      compatible,
      documented(compatible, "OpenRouter: a limit", () => ({
        "retry-after": new Date(Date.now() + 20_000).toUTCString(),
      })),
    ),
    isAbout: true,
  },
  once(
    "rate_limit",
    "OpenAI, 429 with `Retry-After: 600`",
    openai,
    documented(openai, "a limit of requests", () => ({ "retry-after": "600" })),
  ),
  once(
    "rate_limit",
    "OpenAI, 429 with `Retry-After: -5`, which is ignored",
    openai,
    documented(openai, "a limit of requests", () => ({ "retry-after": "-5" })),
  ),
  once("rate_limit", "OpenAI, 429 in the stream", openai, documented(openai, "a limit in the stream")),
  always("overloaded", "Anthropic, 529 `overloaded_error`, always", anthropic, "an overload"),
  once(
    "overloaded",
    "Anthropic, `overloaded_error` in the stream",
    anthropic,
    documented(anthropic, "an overload in the stream"),
  ),
  {
    kind: "overloaded",
    input: "llama.cpp, 503 three times while it loads the model",
    format: compatible,
    replies: [
      ...Array.from({ length: 3 }, () => documented(compatible, "llama.cpp: the model is being loaded")),
      answer,
    ],
  },
  once(
    "overloaded",
    "Ollama, 503: too many requests are queued",
    compatible,
    documented(compatible, "Ollama: too many requests wait"),
  ),
  once("timeout", "Google, 504 `DEADLINE_EXCEEDED`", google, documented(google, "a timeout")),
  once("timeout", "OpenRouter, 408", compatible, documented(compatible, "OpenRouter: a timeout")),
  once("network", "The connection is reset in the middle of the answer", anthropic, half("reset")),
  {
    kind: "network",
    input: "Nothing listens at the address",
    format: compatible,
    replies: [answer],
    meanwhile: ({ server }) => server.close(),
  },
  always("provider", "OpenAI, 500 `server_error`, always", openai, "a failure of its own"),
  once("provider", "OpenAI, `response.failed` in the stream", openai, documented(openai, "a failure in the stream")),
  once("provider", "vLLM, an error in the stream", compatible, documented(compatible, "vLLM: a failure in the stream")),
  once("provider", "502 with a proxy's HTML page", compatible, documented(compatible, "a proxy's page")),
  once("provider", "Google, an answer that ends with `MALFORMED_FUNCTION_CALL`", google, malformedCall),
  once("provider", "An empty answer, once", compatible, empty),
  { kind: "provider", input: "An empty answer, twice", format: compatible, replies: [empty] },
  once(
    "provider",
    "llama.cpp, 501: an unsupported feature",
    compatible,
    documented(compatible, "llama.cpp: something it cannot do"),
  ),
  once("quota", "OpenAI, 429 `insufficient_quota`", openai, documented(openai, "a quota that is used up")),
  once(
    "quota",
    "Anthropic, 400: the credit balance is too low",
    anthropic,
    documented(anthropic, "a credit that is used up"),
  ),
  once("quota", "Google, 429: the daily quota is used up", google, documented(google, "a limit of the day")),
  once("quota", "OpenRouter, 402", compatible, documented(compatible, "OpenRouter: credits that are used up")),
  once("auth", "OpenAI, 401 `invalid_api_key`", openai, documented(openai, "a bad key")),
  once("auth", "Google, 400 `API_KEY_INVALID`", google, documented(google, "a bad key")),
  once("auth", "Anthropic, 403 `permission_error`", anthropic, documented(anthropic, "a permission that is missing")),
  once(
    "invalid_request",
    "OpenAI, 400 `unknown_parameter`",
    openai,
    documented(openai, "a parameter that is not known"),
  ),
  once(
    "invalid_request",
    "Ollama, 404: no such model",
    compatible,
    documented(compatible, "Ollama: a model that is not there"),
  ),
  once("context_overflow", "OpenAI, 400 `context_length_exceeded`", openai, documented(openai, "a long prompt")),
  once(
    "context_overflow",
    "Anthropic, 413 `request_too_large`",
    anthropic,
    documented(anthropic, "a request of too many bytes"),
  ),
  once(
    "context_overflow",
    "llama.cpp, 400 `exceed_context_size_error`",
    compatible,
    documented(compatible, "llama.cpp: a long prompt"),
  ),
  once(
    "content_filter",
    "Azure, 400 `content_filter`",
    compatible,
    documented(compatible, "a filtered prompt, as Azure has it"),
  ),
  once(
    "content_filter",
    "OpenRouter, 403: moderation flagged the prompt",
    compatible,
    documented(compatible, "OpenRouter: a prompt that moderation flagged"),
  ),
  {
    kind: "cancelled",
    input: "The user aborts in the middle of the answer",
    format: google,
    replies: [half("hang")],
    meanwhile: async ({ abort }) => abort(),
  },
];

const stalling = (input: string, format: FormatName, reply: () => ScriptedReply, ms: number): Case => ({
  ...once("timeout", input, format, reply),
  meanwhile: async ({ clock }) => {
    await clock.waitFor(ms);
    await clock.advance(ms);
  },
});

const timeouts: readonly Case[] = [
  stalling(
    "Nothing arrives for 2 minutes",
    compatible,
    () => ({ type: "raw", status: 200, headers: { "content-type": "text/event-stream" }, body: "", hang: true }),
    120_000,
  ),
  stalling("The answer starts, and then nothing arrives for 60 s", anthropic, half("hang"), 60_000),
];

async function serve(provider: RealProvider, replies: Case["replies"]) {
  const server = await startProviderServer(provider.format, (_request, turn) => {
    const reply = replies[Math.min(turn, replies.length) - 1];
    if (reply === undefined) throw new Error("There is no reply.");
    return reply();
  });
  onTestFinished(() => server.close());
  return { server, model: fromAiSdk(provider.create({ baseURL: server.baseURL, apiKey: "sk-test" })) };
}

/** Plays a case with one provider package. */
async function play(provider: RealProvider, one: Case, withFallback: boolean): Promise<Seen> {
  const { server, model } = await serve(provider, one.replies);
  const clock = createWatchedClock(Date.now());
  const controller = new AbortController();
  const scene: Scene = { server, clock, abort: () => controller.abort() };
  const refused = one.meanwhile !== undefined && one.kind === "network";
  if (refused) await one.meanwhile?.(scene);
  const agent = createAgent({
    model,
    ...(withFallback ? { fallbacks: [(await serve(provider, [answer])).model] } : {}),
    clock,
    retry: createRetryPolicy({}, () => 1),
  });
  const stream = agent.runStream("Go", { signal: controller.signal });
  const collected = advanceThroughRetries(clock, stream);
  if (!refused && one.meanwhile !== undefined) {
    await server.firstRequest;
    await one.meanwhile(scene);
  }
  const items = await collected;
  const failed = filterEventsOfType(items, "attempt_failed");
  const waits = failed.flatMap(({ retryInMs }) => retryInMs ?? []);
  const stalledMs = clock.elapsed() - sum(waits);
  // No time passes but what is told.
  if (!timeouts.includes(one)) expect(stalledMs).toBe(0);
  const failures = failed.map(({ failure }) => failure);
  return { failures, waits, stalledMs, requests: server.requests.length, result: await stream.result };
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, one) => total + one, 0);
}

function rowOf(one: Case, seen: Seen, withFallback: boolean): readonly string[] {
  const { failures, requests, result } = seen;
  const reason = "reason" in result ? result.reason : "";
  const tried = String(Math.max(failures.length, requests));
  return [
    `\`${one.kind}\``,
    one.input,
    withFallback ? `${tried}, then the second model once` : tried,
    waited(seen, one.isAbout === true),
    // The port is another one each time.
    `**${result.status}** (${reason}): ${result.text.replace(/(127\.0\.0\.1):\d+/, "$1:…")}`,
  ];
}

function waited({ waits, stalledMs }: Seen, isAbout: boolean): string {
  const between = waits.map((ms) => seconds(ms, isAbout)).join(", ");
  if (stalledMs > 0) return `${seconds(stalledMs, false)} for the answer, then ${between}`;
  return between === "" ? "—" : between;
}

function seconds(ms: number, isAbout: boolean): string {
  return isAbout ? `about ${Math.round(ms / 10_000) * 10} s` : `${Number((ms / 1_000).toFixed(2))} s`;
}

const page: DocsPage = {
  file: "model-failures.md",
  command: "node scripts/failures-page.mjs",
  columns: ["Kind", "What happens", "Attempts", "Waits", "What the result says"],
};

function holdCases(heading: string, cases: readonly Case[], withFallback = false): void {
  describe(heading, () => {
    const rows = new Map<Case, readonly string[]>();
    test.each(cases)("$kind: $input", verifies("RTRY-1", "RTRY-2"), async (one) => {
      const providers = realProviders.filter(({ format }) => format === one.format);
      for (const provider of providers) {
        const seen = await play(provider, one, withFallback);
        expect(new Set(seen.failures.map(({ kind }) => kind))).toEqual(new Set([one.kind]));
        const row = rowOf(one, seen, withFallback);
        // The packages of both specifications lead to the same.
        expect(row).toEqual(rows.get(one) ?? row);
        rows.set(one, row);
      }
    });
    test("the page says the same", () => {
      expectTable(
        page,
        heading,
        cases.flatMap((one) => {
          const row = rows.get(one);
          return row === undefined ? [] : [row];
        }),
      );
      expect(rows.size).toBe(cases.length);
    });
  });
}

test("each kind of failure has its row", () => {
  const all: Readonly<Record<Kind, true>> = {
    rate_limit: true,
    overloaded: true,
    timeout: true,
    network: true,
    context_overflow: true,
    quota: true,
    auth: true,
    invalid_request: true,
    content_filter: true,
    provider: true,
    cancelled: true,
  };
  expect(new Set(kinds.map(({ kind }) => kind))).toEqual(new Set(Object.keys(all)));
});

holdCases("Kinds", kinds);
holdCases("Timeouts", timeouts);
holdCases(
  "Fallbacks",
  kinds.filter(
    ({ input }) =>
      input.endsWith("always") || input.includes("insufficient_quota") || input.includes("invalid_api_key"),
  ),
  true,
);

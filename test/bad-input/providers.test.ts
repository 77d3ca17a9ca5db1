/**
 * Providers that answer badly (docs/bad-input.md): each case with the real packages of all formats, which must agree.
 */
import { afterEach, describe, expect, test } from "vitest";
import { createAgent } from "../../src/index.js";
import { fromAiSdk } from "../../src/models/index.js";
import { type ProviderServer, type ScriptedReply, startProviderServer } from "../models/provider-server.js";
import { type RealProvider, realProviders } from "../models/real-providers.js";
import { filterEventsOfType } from "../support/agents.js";
import { advanceThroughRetries, createWatchedClock } from "../support/clock.js";
import { verifies } from "../verifies.js";
import { expectBadInputTable, type Row } from "./page.js";

const servers: ProviderServer[] = [];

afterEach(async () => {
  for (const server of servers.splice(0)) await server.close();
});

type Case = {
  readonly input: string;
  readonly replies: () => readonly ScriptedReply[];
  /** The wait depends on when the answer is read. */
  readonly isAbout?: boolean;
};

const failing = (failure: Extract<ScriptedReply, { type: "failure" }>["failure"], retryAfter?: () => string) => ({
  type: "failure" as const,
  failure,
  ...(retryAfter === undefined ? {} : { headers: { "retry-after": retryAfter() } }),
});
const second = { type: "answer", text: "Second." } as const;
const half = (ending: Extract<ScriptedReply, { type: "answer" }>["ending"]) =>
  ({
    type: "answer",
    text: "Half of it — and no more. Ünd so weiter.",
    ...(ending === undefined ? {} : { ending }),
  }) as const;

const cases: readonly Case[] = [
  { input: "429 with `Retry-After: 7`", replies: () => [failing("rate-limit", () => "7"), second] },
  {
    input: "429 with `Retry-After` as a date, 20 s from now",
    replies: () => [failing("rate-limit", () => new Date(Date.now() + 20_000).toUTCString()), second],
    isAbout: true,
  },
  { input: "429 with a negative `Retry-After`", replies: () => [failing("rate-limit", () => "-5"), second] },
  { input: "429 with a `Retry-After` of ten days", replies: () => [failing("rate-limit", () => "864000"), second] },
  { input: "429 because the quota is used up", replies: () => [failing("quota"), second] },
  { input: "500", replies: () => [failing("server-error"), second] },
  {
    input: "529, or 503 where the provider says that it is overloaded",
    replies: () => [failing("overloaded"), second],
  },
  { input: "401", replies: () => [failing("unauthorized"), second] },
  { input: "404: no such model", replies: () => [failing("not-found"), second] },
  { input: "400: the request does not fit the context window", replies: () => [failing("overflow"), second] },
  { input: "502 with a page of HTML", replies: () => [failing("html"), second] },
  { input: "The connection is reset in mid-stream", replies: () => [half("reset"), second] },
  { input: "The stream is cut between two events", replies: () => [half("cut"), second] },
  {
    input: "The stream is cut within an event, in the middle of a character",
    replies: () => [half("cut-in-delta"), second],
  },
  {
    input: "The stream is cut in the middle of a call's arguments",
    replies: () => [
      { type: "answer", calls: [{ name: "nothing", input: { path: "a rather long — path" } }], ending: "cut-in-delta" },
      second,
    ],
  },
  { input: "An event that is not JSON", replies: () => [half("broken-json"), second] },
];

/** What all packages agree on: the kind of failure, the wait, how often the provider was asked, the end. */
async function play(provider: RealProvider, { replies, isAbout }: Case): Promise<Omit<Row, "input">> {
  const server = await startProviderServer(provider.format, replies());
  servers.push(server);
  const clock = createWatchedClock(Date.now());
  const model = fromAiSdk(provider.create({ baseURL: server.baseURL, apiKey: "sk-test" }));
  const stream = createAgent({ model, clock, retry: { baseDelayMs: 1 } }).runStream("Go");
  const items = await advanceThroughRetries(clock, stream);
  const result = await stream.result;
  const failed = filterEventsOfType(items, "attempt_failed").map(({ failure, retryInMs }) => {
    const wait = retryInMs === undefined ? "not retried" : `retried after ${waitIn(retryInMs, isAbout === true)}`;
    return `\`attempt_failed\` (${failure.kind}), ${wait}`;
  });
  // The provider's own words differ from one provider to the next.
  const text = result.status === "failed" ? result.text.replace(result.error?.message ?? "", "…") : result.text;
  const ended = `**${result.status}** (${"reason" in result ? result.reason : ""}): \`${text}\``;
  const asked = server.requests.length;
  return { user: [...failed, ended].join("\n"), model: asked === 1 ? "is called once" : `is called ${asked} times` };
}

/** Of our own waits only that they are ours, as chance has a part in them. */
function waitIn(ms: number, isAbout: boolean): string {
  if (ms <= 2) return "Pawl's own wait";
  return isAbout ? `about ${Math.round(ms / 10_000) * 10} s` : `${ms / 1_000} s`;
}

const rows = new Map<string, Row>();

describe("a provider answers with", () => {
  test.each(cases)("$input", verifies("RTRY-2", "RTRY-6"), async (one) => {
    const { input } = one;
    const seen = await Promise.all(realProviders.map((provider) => play(provider, one)));
    const [first] = seen;
    for (const [index, own] of seen.entries())
      expect({ ...own, provider: realProviders[index]?.name }).toEqual({
        ...first,
        provider: realProviders[index]?.name,
      });
    if (first !== undefined) rows.set(input, { input, ...first });
  });
});

test("the page says the same", () => {
  expect(rows.size).toBe(cases.length);
  expectBadInputTable(
    "Providers",
    cases.flatMap((one) => rows.get(one.input) ?? []),
  );
});

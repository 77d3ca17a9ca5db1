/**
 * Bad streams (docs/bad-input.md).
 */
import { describe, expect, test } from "vitest";
import type { AgentOptions, MessageDelta, Model, ModelDelta } from "../../src/index.js";
import type { ScriptedStep } from "../../src/testing/scripted-model.js";
import { createDeferred, createEchoTool, filterEventsOfType } from "../support/agents.js";
import { verifies } from "../verifies.js";
import { type Case, type CaseOutcome, runCase } from "./cases.js";
import { expectBadInputTable, type Row } from "./page.js";

const finished = {
  kind: "done",
  finishReason: { unified: "stop" },
  usage: { inputTokens: 10, outputTokens: 5 },
} as const satisfies ModelDelta;

const says = (text: string, id = "1"): ModelDelta => ({ kind: "text-delta", id, text });

/** What a model of any origin may yield, whatever its types say. */
const anything = (delta: unknown): ModelDelta => delta as ModelDelta;

function streaming(input: string, deltas: readonly ModelDelta[], more: Partial<Case> = {}): Case {
  return playing(input, [{ deltas }, { text: "Second." }], more);
}

function playing(input: string, script: readonly ScriptedStep[] | Model, more: Partial<Case> = {}): Case {
  const options: Partial<AgentOptions> = { retry: { baseDelayMs: 0, maxRetries: 2 } };
  return { input, make: () => ({ script, options, tools: [createEchoTool().tool] }), ...more };
}

const deltasOf = (seen: CaseOutcome) => seen.items.flatMap((item) => (item.type === "delta" ? [item.delta] : []));

const order: readonly Case[] = [
  streaming(
    "A delta that is repeated at once",
    [
      { kind: "start", seq: 1 },
      { ...says("One "), seq: 2 },
      { ...says("One "), seq: 2 },
      { ...says("two."), seq: 3 },
      { ...finished, seq: 4 },
    ],
    { check: (seen) => expect(seen.result.text).toBe("One two.") },
  ),
  streaming("Deltas out of order", [
    { kind: "start", seq: 1 },
    { ...says("two."), seq: 3 },
    { ...says("One "), seq: 2 },
    { ...finished, seq: 4 },
  ]),
  streaming("A missing delta", [
    { kind: "start", seq: 1 },
    { ...says("One "), seq: 2 },
    { ...finished, seq: 4 },
  ]),
  streaming("A delta that is repeated after the following one", [
    { ...says("One "), seq: 1 },
    { ...says("two."), seq: 2 },
    { ...says("One "), seq: 1 },
    { ...finished, seq: 3 },
  ]),
  streaming("A delta that names another attempt, step, run or session", [
    says("One "),
    { ...says("two."), attempt: 7 },
  ]),
  streaming("`done` twice", [says("One."), finished, { ...finished, usage: { inputTokens: 999 } }], {
    check: (seen) => expect(seen.result.usage.inputTokens).toBe(10),
  }),
  streaming(
    "Deltas after `done`",
    [says("One."), finished, says(" And more."), { kind: "error", failure: { kind: "network", message: "late" } }],
    {
      check(seen) {
        expect(seen.result.text).toBe("One.");
        expect(deltasOf(seen).at(-1)?.kind).toBe("done");
      },
    },
  ),
];

const ends: readonly Case[] = [
  streaming("A stream that ends in the middle of a text", [says("One and a ha")]),
  streaming("A stream that ends in the middle of a call's arguments", [
    { kind: "tool-input-start", id: "1", name: "echo" },
    { kind: "tool-input-delta", id: "1", text: '{"city": "Pa' },
  ]),
  streaming("An error after a complete message", [
    { kind: "text-start", id: "1" },
    says("A whole message."),
    { kind: "text-end", id: "1" },
    { kind: "error", failure: { kind: "network", message: "connection reset" } },
  ]),
  streaming("`done` without a finish reason, or with an invalid one", [
    says("One."),
    anything({ kind: "done", finishReason: undefined, usage: undefined }),
  ]),
  streaming("A provider that ends a message with the reason `error`", [
    says("One."),
    { ...finished, finishReason: { unified: "error", raw: "failure" } },
  ]),
  streaming("An empty answer, once", [finished]),
  playing("An empty answer, twice", [{ deltas: [finished] }, { deltas: [says("  \n"), finished] }, { text: "Third." }]),
  streaming("A message with nothing but reasoning", [{ kind: "reasoning-delta", id: "1", text: "Hm." }, finished]),
  playing(
    "A second attempt that says something else",
    [
      { text: "The first attempt says this, and", error: { kind: "network", message: "connection reset" } },
      { text: "Second." },
    ],
    {
      check(seen) {
        expect(seen.result.text).toBe("Second.");
        expect(JSON.stringify(seen.messages)).not.toContain("first attempt");
      },
    },
  ),
  playing("A failure that is not retried", [{ error: { kind: "auth", message: "invalid key", statusCode: 401 } }]),
  {
    input: "A stream that stalls, until the user aborts",
    make() {
      const stalled = createDeferred();
      return {
        script: [
          {
            deltas: (async function* () {
              yield says("One and");
              stalled.resolve();
              await new Promise(() => {});
            })(),
          },
        ],
        meanwhile: async ({ abort }) => {
          await stalled.promise;
          abort();
        },
      };
    },
  },
];

const shapes: readonly Case[] = [
  streaming("A delta that is `null`", [says("One"), anything(null)]),
  streaming("A delta of an unknown kind", [says("One"), anything({ kind: "text_delta", text: "two" })]),
  streaming("A text that is not a string", [anything({ kind: "text-delta", id: "1", text: 7 })]),
  streaming("A call without a name", [anything({ kind: "tool-call", id: "1", input: "{}" }), finished]),
  streaming(
    "Unusable token counts: strings, NaN, negative numbers",
    [
      says("One."),
      anything({ ...finished, usage: { inputTokens: "many", outputTokens: Number.NaN, reasoningTokens: -1 } }),
    ],
    { check: (seen) => expect(seen.result.usage).toEqual({ partial: true }) },
  ),
  streaming("A failure without details", [anything({ kind: "error" })]),
  streaming("Metadata with the key `__proto__`", [
    anything({ kind: "text-delta", id: "1", text: "One", providerMetadata: JSON.parse('{"__proto__": {"a": 1}}') }),
    finished,
  ]),
  streaming("Metadata of 2 MB", [
    { kind: "text-start", id: "1", providerMetadata: { any: { signature: "s".repeat(2_000_000) } } },
    says("One."),
    finished,
  ]),
  streaming("A text of 5 MB", [says("x".repeat(5_000_000)), finished]),
  streaming("A text of 800,000 control characters", [says("\u0001".repeat(800_000)), finished]),
  streaming("10,000 calls in one message", [
    ...Array.from(
      { length: 10_000 },
      (_, index): ModelDelta => ({
        kind: "tool-call",
        id: `${index}`,
        name: "echo",
        input: "{}",
      }),
    ),
    finished,
  ]),
  streaming("NUL and lone surrogates in a text", [says("a\u0000b\ud800"), says("\udc00c"), finished], {
    check: (seen) => expect(seen.result.text).toBe("a\u0000b\u{10000}c"),
  }),
  streaming("A result from the provider that is not a valid output", [
    { kind: "tool-call", id: "p", name: "web_search", input: "{}", providerExecuted: true },
    anything({ kind: "tool-result", id: "p", name: "web_search", output: 42n }),
    says("One."),
    finished,
  ]),
];

const models: readonly Case[] = [
  playing("A model that throws in mid-stream", [{ text: "One", throws: new Error("boom") }]),
  playing("A model that throws when it is called", {
    id: "m",
    stream() {
      throw new Error("no such socket");
    },
  }),
  playing("A model that returns no stream", {
    id: "m",
    stream: () => anything({}) as unknown as AsyncIterable<ModelDelta>,
  }),
  {
    input: "A model whose clean-up after `done` never ends",
    make: () => ({
      script: {
        id: "m",
        async *stream() {
          try {
            yield says("One.");
            yield finished;
          } finally {
            await new Promise(() => {});
          }
        },
      },
    }),
  },
  {
    input: "A retry policy that throws",
    make: () => ({
      script: [{ error: { kind: "network", message: "connection reset" } }],
      options: {
        retry: {
          decide() {
            throw new Error("undecided");
          },
        },
      },
    }),
  },
  {
    input: "A model that continues after it was aborted",
    make() {
      const controller = createDeferred();
      return {
        script: {
          id: "m",
          async *stream(_request, signal) {
            yield says("One");
            controller.resolve();
            await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
            yield says(" and more, all the same.");
            yield finished;
          },
        },
        meanwhile: async ({ abort }) => {
          await controller.promise;
          abort();
        },
      };
    },
    check: (seen) => expect(JSON.stringify(deltasOf(seen))).not.toContain("all the same"),
  },
];

const groups = { order, ends, shapes, models };
const rows = new Map<string, Row>();

describe.each(Object.entries(groups))("%s", (_, cases) => {
  test.each(cases)("$input", verifies("STRM-1", "STRM-2", "SEC-12"), async (one) => {
    const row = await runCase({
      ...one,
      check(seen) {
        expectNumbered(seen);
        one.check?.(seen);
      },
    });
    rows.set(one.input, row);
  });
});

/** Whatever a model yields: `start` first, numbers by one, one `done` or `error` last, in each attempt. */
function expectNumbered(seen: CaseOutcome): void {
  const attempts = new Map<string, MessageDelta[]>();
  for (const delta of deltasOf(seen)) {
    const attempt = `${delta.modelCallIndex}/${delta.attempt}`;
    attempts.set(attempt, [...(attempts.get(attempt) ?? []), delta]);
  }
  for (const deltas of attempts.values()) {
    expect(deltas.map((delta) => delta.seq)).toEqual(deltas.map((_, index) => index + 1));
    expect(deltas[0]?.kind).toBe("start");
    const ending = deltas.filter((delta) => delta.kind === "done" || delta.kind === "error");
    expect(ending).toHaveLength(1);
    expect(deltas.at(-1)).toBe(ending[0]);
  }
  expect(
    filterEventsOfType(seen.items, "attempt_failed").every((event) =>
      attempts.has(`${event.modelCallIndex}/${event.attempt}`),
    ),
  ).toBe(true);
}

test("every delta that names another place fails the attempt", verifies("STRM-8"), async () => {
  for (const place of [{ attempt: 2 }, { modelCallIndex: 9 }, { runId: "other" }, { sessionId: "other" }]) {
    const row = await runCase(streaming("elsewhere", [says("One "), { ...says("two."), ...place }]));
    expect(row.user).toContain("`attempt_failed` (provider): `A delta named another session, run, step or attempt.`");
  }
  const right = await runCase(
    streaming("here", [
      says("One "),
      { ...says("two."), attempt: 1, modelCallIndex: 1, runId: "r", sessionId: "s" },
      finished,
    ]),
  );
  expect(right.user).toContain("One two.");
});

const all = Object.values(groups).flat();

test("the page says the same", () => {
  expect(rows.size).toBe(all.length);
  expectBadInputTable(
    "Streams",
    all.flatMap((one) => rows.get(one.input) ?? []),
  );
});

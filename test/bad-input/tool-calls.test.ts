/**
 * Bad tool calls and bad results (docs/bad-input.md).
 */
import { afterAll, describe, expect, test } from "vitest";
import { type AnyTool, defineTool, done } from "../../src/index.js";
import type { ScriptedCall } from "../../src/testing/scripted-model.js";
import { settled } from "../../src/testing/test-clock.js";
import { createDeferred } from "../support/agents.js";
import { verifies } from "../verifies.js";
import { type Case, runCase } from "./cases.js";
import { expectBadInputTable, type Row } from "./page.js";

const anyObject = { type: "object" } as const;
const city = {
  type: "object",
  properties: { city: { type: "string" }, days: { type: "integer" } },
  required: ["city"],
} as const;

const weather = defineTool({
  name: "weather",
  description: "Tells the weather.",
  input: city,
  readOnly: true,
  execute: (input) => `sunny in ${String(input.city)}`,
});

/** A tool that gives back whatever a case makes. */
function giving(make: () => unknown, options: Partial<AnyTool> = {}): AnyTool {
  return { name: "give", description: "Gives a value.", input: anyObject, execute: () => make(), ...options };
}

function asking(input: string, calls: readonly ScriptedCall[], more: Partial<Case> = {}): Case {
  return { input, make: () => ({ script: [{ calls }, { text: "Done." }], tools: [weather] }), ...more };
}

function returning(input: string, make: () => unknown, options: Partial<AnyTool> = {}): Case {
  return {
    input,
    make: () => ({ script: [{ calls: [{ name: "give" }] }, { text: "Done." }], tools: [giving(make, options)] }),
  };
}

function throwing(input: string, make: () => unknown): Case {
  return returning(input, () => {
    throw make();
  });
}

const arguments_: readonly Case[] = [
  asking('Arguments that are not JSON: `{"city": Paris}`', [{ name: "weather", raw: '{"city": Paris}' }]),
  asking('Truncated arguments: `{"city": "Par`', [{ name: "weather", raw: '{"city": "Par' }]),
  asking("Arguments of 5 MB", [{ name: "weather", raw: JSON.stringify({ city: "x".repeat(5_000_000) }) }]),
  asking("Arguments nested 10,000 deep", [
    { name: "weather", raw: `{"city":${"[".repeat(10_000)}${"]".repeat(10_000)}}` },
  ]),
  asking("No arguments at all", [{ name: "weather", raw: "" }]),
  asking('Arguments that are JSON, but not an object: `null`, `[1]`, `"Paris"`', [
    { name: "weather", raw: "null" },
    { name: "weather", raw: "[1]" },
    { name: "weather", raw: '"Paris"' },
  ]),
  asking("Arguments that do not fit the schema", [{ name: "weather", input: { city: 7, days: "two" } }]),
  asking("The key `__proto__` in the arguments", [
    { name: "weather", raw: '{"city": "Paris", "__proto__": {"isAdmin": true}}' },
  ]),
  asking("The keys `constructor` and `prototype`, nested in the arguments", [
    { name: "weather", raw: '{"city": "Paris", "more": [{"constructor": {"prototype": {}}}]}' },
  ]),
  asking("NUL and lone surrogates in the arguments", [{ name: "weather", raw: '{"city": "a\\u0000b\\ud800c"}' }]),
  asking("A number too large for a double: `1e999`", [{ name: "weather", raw: '{"city": "Paris", "days": 1e999}' }]),
];

const names: readonly Case[] = [
  asking("A tool that does not exist", [{ name: "forecast", input: { city: "Paris" } }]),
  asking("Names that every object has: `toString`, `__proto__`", [{ name: "toString" }, { name: "__proto__" }]),
  asking("A tool's name of 100,000 characters", [{ name: "x".repeat(100_000) }]),
  asking("An empty name", [{ name: "" }]),
  asking("Two calls under one id", [
    { name: "weather", id: "same", input: { city: "Paris" } },
    { name: "weather", id: "same", input: { city: "Rome" } },
  ]),
  {
    input: "The same id in two steps",
    make: () => ({
      script: [
        { calls: [{ name: "weather", id: "same", input: { city: "Paris" } }] },
        { calls: [{ name: "weather", id: "same", input: { city: "Rome" } }] },
        { text: "Done." },
      ],
      tools: [weather],
    }),
  },
  asking("Empty ids", [
    { name: "weather", id: "", input: { city: "Paris" } },
    { name: "weather", id: "", input: { city: "Rome" } },
  ]),
];

class Point {
  readonly x = 1;
  get y(): number {
    return 2;
  }
}

const circular = () => {
  const value: { name: string; self?: unknown } = { name: "ring" };
  value.self = value;
  return value;
};

const values: readonly Case[] = [
  returning("A result with BigInt, NaN, Infinity and −0", () => ({
    big: 2n ** 70n,
    nan: NaN,
    inf: Infinity,
    zero: -0,
  })),
  returning("A result with dates, a Map, a Set and bytes", () => ({
    at: new Date(0),
    never: new Date(Number.NaN),
    map: new Map([["a", 1]]),
    set: new Set([1, 2]),
    bytes: new Uint8Array(3),
  })),
  returning("A result that contains itself", circular),
  returning("A result nested 10,000 deep", () => {
    let value: unknown = "bottom";
    for (let depth = 0; depth < 10_000; depth += 1) value = [value];
    return value;
  }),
  returning("A getter that throws", () => ({
    ok: 1,
    get bad(): never {
      throw new Error("not today");
    },
  })),
  returning("A `toJSON` that throws", () => ({
    toJSON() {
      throw new Error("not as JSON");
    },
  })),
  returning("A result with `undefined`, a function and a symbol inside", () => ({
    none: undefined,
    call: () => 1,
    sign: Symbol("s"),
    kept: 1,
  })),
  returning("`undefined`", () => undefined),
  returning("A function", () => function answer() {}),
  returning("An instance of a class", () => new Point()),
  returning("A result with its own key `__proto__`", () => JSON.parse('{"a": 1, "__proto__": {"b": 2}}')),
  returning("NUL and lone surrogates in a result", () => "a\u0000b\ud800c"),
  returning("Bytes that are not UTF-8, read as text", () => Buffer.from([0x61, 0xff, 0xfe, 0x62]).toString("utf8")),
  returning("A Proxy that refuses everything", () => new Proxy({}, hostile)),
  returning("10 MB of text", () => "A line of ten megabytes.\n".repeat(400_000)),
  returning("33 MB of text on one line", () => "x".repeat(33_000_000)),
  returning("10 MB of JSON", () => ({
    rows: Array.from({ length: 100_000 }, (_, row) => ({ row, text: "y".repeat(80) })),
  })),
  returning("More than a million values", () => Array.from({ length: 1_000_001 }, () => 0)),
  returning("10 MB of control characters, from a tool that may show 10 MB", () => "\u0001".repeat(10_000_000), {
    maxOutputBytes: 10_000_000,
  }),
  returning("A picture of 2 MB", () => ({
    type: "content",
    parts: [{ type: "file", mediaType: "image/png", data: "A".repeat(2_000_000) }],
  })),
  returning("`done` with a message of 10 MB", () => done("z".repeat(10_000_000))),
];

const hostile: ProxyHandler<object> = {
  get() {
    throw new Error("hands off");
  },
  has() {
    throw new Error("hands off");
  },
  ownKeys() {
    throw new Error("hands off");
  },
  getPrototypeOf() {
    throw new Error("hands off");
  },
};

const failures: readonly Case[] = [
  throwing("A tool that throws an error", () => new Error("disk is full")),
  throwing("A tool that throws a string", () => "just words"),
  throwing("… `undefined`", () => undefined),
  throwing("… an error with a message of 33 MB", () => new Error("m".repeat(33_000_000))),
  throwing("… an error whose message throws", () =>
    Object.defineProperty(new Error("x"), "message", {
      get() {
        throw new Error("no message for you");
      },
    }),
  ),
  throwing("… a Proxy that refuses everything", () => new Proxy({}, hostile)),
  returning("A promise of another library (a thenable) that fails", () => ({
    // biome-ignore lint/suspicious/noThenProperty: it is what other libraries' promises are.
    then: (_: unknown, reject: (error: unknown) => void) => reject(new Error("elsewhere")),
  })),
];

const times: readonly Case[] = [
  {
    input: "A tool that never returns, with a timeout of 1 s",
    make: () => ({
      script: [{ calls: [{ name: "give" }] }, { text: "Done." }],
      tools: [giving(() => new Promise(() => {}), { timeoutMs: 1_000 })],
      meanwhile: async ({ clock }) => {
        await clock.waitFor(1_000);
        await clock.advance(1_000);
      },
    }),
  },
  {
    input: "A tool that returns after its timeout",
    make: () => {
      const late = createDeferred<string>();
      return {
        script: [{ calls: [{ name: "give" }] }, { text: "Done." }],
        tools: [giving(() => late.promise, { timeoutMs: 1_000 })],
        meanwhile: async ({ clock }) => {
          await clock.waitFor(1_000);
          await clock.advance(1_000);
          late.resolve("too late");
          await settled();
        },
      };
    },
  },
  {
    input: "A tool that fails after its timeout",
    make: () => {
      const late = createDeferred<string>();
      return {
        script: [{ calls: [{ name: "give" }] }, { text: "Done." }],
        tools: [giving(() => late.promise, { timeoutMs: 1_000 })],
        meanwhile: async ({ clock }) => {
          await clock.waitFor(1_000);
          await clock.advance(1_000);
          late.reject(new Error("too late"));
          await settled();
        },
      };
    },
  },
  {
    input: "A tool that ignores its signal when the run is aborted",
    make: () => {
      const started = createDeferred();
      const never = () => {
        started.resolve();
        return new Promise(() => {});
      };
      return {
        script: [{ calls: [{ name: "give" }, { name: "weather", input: { city: "Paris" } }] }],
        tools: [giving(never), weather],
        options: { limits: { toolConcurrency: 1 } },
        meanwhile: async ({ clock, abort }) => {
          await started.promise;
          abort();
          await clock.waitFor(5_000);
          await clock.advance(5_000);
        },
      };
    },
  },
  {
    input: "Calls in a message that was truncated at the output limit",
    make: () => ({
      script: [{ calls: [{ name: "weather", input: { city: "Paris" } }], finish: "length" }, { text: "Done." }],
      tools: [weather],
    }),
  },
];

const groups = { arguments: arguments_, names, values, failures, times };
const rows = new Map<string, Row>();

describe.each(Object.entries(groups))("%s", (_, cases) => {
  test.each(cases)("$input", verifies("SEC-12", "TOOL-5#results"), async (one) => {
    rows.set(one.input, await runCase(one));
  });
});

const all = Object.values(groups).flat();

test("the page says the same", () => {
  expect(rows.size).toBe(all.length);
  expectBadInputTable(
    "Tool calls",
    all.flatMap((one) => rows.get(one.input) ?? []),
  );
});

afterAll(() => rows.clear());

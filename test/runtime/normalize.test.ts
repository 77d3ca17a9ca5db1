import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { checkJson } from "../../src/core/data/json.js";
import { PawlError } from "../../src/errors.js";
import { normaliseJson, toToolOutput } from "../../src/runtime/tools/to-json.js";
import { verifies } from "../verifies.js";

function refusalOf(value: unknown): string {
  try {
    normaliseJson(value);
  } catch (error) {
    expect(error).toBeInstanceOf(PawlError);
    expect((error as PawlError).code).toBe("not_storable");
    return (error as PawlError).message;
  }
  throw new Error("it was not refused");
}

function nested(depth: number): unknown {
  let value: unknown = "end";
  for (let level = 0; level < depth; level++) value = { in: value };
  return value;
}

class Point {
  readonly x = 1;
  readonly y = undefined;
  length(): number {
    return this.x;
  }
}

const circular: { name: string; self?: unknown; list?: unknown[] } = { name: "a" };
circular.self = circular;
circular.list = [circular];

describe("normaliseJson", () => {
  const cases: readonly [what: string, value: unknown, plain: unknown][] = [
    ["null", null, null],
    ["nothing", undefined, null],
    ["a Date", { at: new Date(0) }, { at: "1970-01-01T00:00:00.000Z" }],
    ["an invalid Date", [new Date(Number.NaN)], ["Invalid Date"]],
    ["a Map by texts", new Map([["a", new Map([["b", 1]])]]), { a: { b: 1 } }],
    [
      "a Map by other keys",
      new Map<unknown, unknown>([
        [1, "one"],
        ["b", 2n],
      ]),
      [
        [1, "one"],
        ["b", "2"],
      ],
    ],
    ["a Map with a refused key", new Map([["__proto__", 1]]), [["__proto__", 1]]],
    ["a Set", new Set([1, new Set(["x"])]), [1, ["x"]]],
    ["a BigInt", { big: 2n ** 64n }, { big: "18446744073709551616" }],
    ["numbers that JSON lacks", [Number.NaN, Infinity, -Infinity, -0], ["NaN", "Infinity", "-Infinity", -0]],
    ["what is left out", { a: undefined, b: () => 1, c: Symbol("c"), d: 1 }, { d: 1 }],
    ["what is left out of arrays", [undefined, () => 1, Symbol("c")], [null, null, null]],
    ["a hole", new Array(2), [null, null]],
    ["a function alone", function named() {}, "[Function named]"],
    ["a symbol alone", Symbol("s"), "Symbol(s)"],
    ["cycles", circular, { name: "a", self: "[Circular]", list: ["[Circular]"] }],
    ["an instance", new Point(), { x: 1 }],
    ["an object without a prototype", Object.assign(Object.create(null), { a: 1 }), { a: 1 }],
    ["an error", { error: new TypeError("no") }, { error: "TypeError: no" }],
    ["a regular expression", /a/g, "/a/g"],
    ["a URL", new URL("http://localhost/x"), "http://localhost/x"],
    ["toJSON", { toJSON: (key: string) => ({ key }) }, { key: "" }],
    [
      "bytes",
      { data: Buffer.from("abc"), more: new ArrayBuffer(2) },
      { data: "[3 bytes of binary data]", more: "[2 bytes of binary data]" },
    ],
    ["numbers in a typed array", new Float64Array([1.5, Number.NaN]), [1.5, "NaN"]],
    ["BigInts in a typed array", new BigInt64Array([1n]), ["1"]],
    ["a response of fetch", new Response("no", { status: 404 }), "[Response with status 404, whose body was not read]"],
    ["NUL and lone surrogates", { "\u0000": "\ud800\u0000" }, { "\u0000": "\ud800\u0000" }],
  ];
  test.each(cases)("writes %s", verifies("TOOL-4#normalized"), (_what, value, plain) => {
    expect(normaliseJson(value)).toEqual(plain);
  });

  test("does not take a value that is used twice for a cycle", () => {
    const shared = { a: 1 };
    expect(normaliseJson([shared, shared])).toEqual([{ a: 1 }, { a: 1 }]);
  });

  test("cuts what lies too deep, and marks it", verifies("TOOL-4#normalized"), () => {
    expect(JSON.stringify(normaliseJson(nested(10_000)))).toContain("[Deeper than 100 levels]");
    expect(JSON.stringify(normaliseJson(nested(100)))).toContain("end");
    expect(normaliseJson(endless)).toBe("[Deeper than 100 levels]");
  });

  const { proxy: revoked, revoke } = Proxy.revocable({}, {});
  revoke();
  const throwing = {
    get boom(): never {
      throw new Error("boom");
    },
  };
  const unbounded: unknown = Array.from({ length: 40 }).reduce((inner) => [inner, inner], "x");
  const endless = { toJSON: () => ({ ...endless }) };
  const refusals: readonly [what: string, value: unknown, message: string][] = [
    ["a getter that throws", { a: [throwing] }, "a[0].boom throws while it is read (boom)"],
    [
      "toJSON that throws",
      {
        a: {
          toJSON: () => {
            throw new Error("no");
          },
        },
      },
      "a throws while it is read (no)",
    ],
    [
      "a getter that throws nonsense",
      {
        get a(): never {
          throw Object.create(null);
        },
      },
      "a throws while it is read (an error that cannot be formatted)",
    ],
    ["a revoked proxy", { a: revoked }, "a throws while it is read"],
    [
      "a proxy that throws",
      new Proxy(
        {},
        {
          ownKeys: () => {
            throw new Error("keys");
          },
        },
      ),
      "the value throws while it is read (keys)",
    ],
    ["a promise", { total: Promise.resolve(1) }, "total is a promise that nothing has awaited"],
    ["an own __proto__", { a: JSON.parse('{"__proto__": 1}') }, 'a has the key "__proto__", which is refused'],
    ["an own constructor", { constructor: 1 }, 'the value has the key "constructor", which is refused'],
    ["values without end", unbounded, "more than 1000000 values"],
    ["an array that is long and empty", new Array(2 ** 31), "has more than 1000000 items"],
    ["text without bound", Array.from({ length: 300 }, () => "x".repeat(1024 * 1024)), "takes the text over"],
  ];
  test.each(refusals)("refuses %s and names the place", verifies("TOOL-4#unstorable"), (_what, value, message) => {
    expect(refusalOf(value)).toContain(message);
  });

  test(
    "gives JSON whatever it is given, and leaves what is JSON as it is",
    verifies("TOOL-4#normalized", "SEC-12"),
    () => {
      const anything = fc.anything({
        withBigInt: true,
        withDate: true,
        withMap: true,
        withSet: true,
        withTypedArray: true,
        withSparseArray: true,
        withNullPrototype: true,
      });
      fc.assert(
        fc.property(anything, (value) => {
          let plain: unknown;
          try {
            plain = normaliseJson(value);
          } catch (error) {
            expect((error as PawlError).code).toBe("not_storable");
            return;
          }
          expect(checkJson(plain).ok).toBe(true);
          expect(normaliseJson(plain)).toEqual(plain);
        }),
        { numRuns: 500 },
      );
    },
  );

  test("copies, so that a tool may go on with what it returned", () => {
    const value = { list: [1] };
    const plain = normaliseJson(value);
    value.list.push(2);
    expect(plain).toEqual({ list: [1] });
  });
});

describe("toToolOutput", () => {
  const parts = [
    { type: "text", text: "a picture" },
    { type: "file", mediaType: "image/png", data: "AAAA", filename: "a.png" },
  ];
  const cases: readonly [what: string, value: unknown, output: unknown][] = [
    ["a text", "done", { type: "text", text: "done" }],
    ["an empty text", "", { type: "text", text: "" }],
    ["nothing", undefined, { type: "text", text: "(no output)" }],
    ["null", null, { type: "json", value: null }],
    ["a number", 3, { type: "json", value: 3 }],
    ["an object", { a: 1n }, { type: "json", value: { a: "1" } }],
    ["a text output", { type: "text", text: "x" }, { type: "text", text: "x" }],
    [
      "a JSON output",
      { type: "json", value: { at: new Date(0) } },
      { type: "json", value: { at: "1970-01-01T00:00:00.000Z" } },
    ],
    ["content", { type: "content", parts }, { type: "content", parts }],
    [
      "content with a part of no known kind",
      { type: "content", parts: [{ type: "audio" }] },
      { type: "json", value: { type: "content", parts: [{ type: "audio" }] } },
    ],
    [
      "something that only looks alike",
      { type: "text", text: "x", size: 1 },
      { type: "json", value: { type: "text", text: "x", size: 1 } },
    ],
  ];
  test.each(cases)("shows %s", verifies("TOOL-4#normalized"), (_what, value, output) => {
    expect(toToolOutput(value)).toEqual(output);
  });
});

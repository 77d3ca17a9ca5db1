import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { canonicalJson, checkJson, formatPath, parseJson } from "../../src/core/data/json.js";
import type { Json } from "../../src/core/data/message.js";
import { hashInput, sha256 } from "../../src/runtime/lib/hash.js";
import { verifies } from "../verifies.js";

const arbitraryJson = fc
  .jsonValue({ noUnicodeString: false })
  .map((value) => JSON.parse(JSON.stringify(value)) as Json);

function errorOf(text: string): string {
  const parsed = parseJson(text);
  return parsed.ok ? "none" : parsed.error;
}

describe("parseJson", () => {
  test("gives what JSON.parse gives", verifies("SEC-12"), () => {
    fc.assert(
      fc.property(arbitraryJson, (value) => {
        const safe = !/__proto__|constructor|prototype/.test(JSON.stringify(value));
        const parsed = parseJson(JSON.stringify(value, null, 1));
        if (safe) expect(parsed).toEqual({ ok: true, value });
      }),
    );
  });

  const faults: readonly [what: string, text: string, error: string][] = [
    ["nothing", "", "the text ends where a value was expected at position 0"],
    ["only space", " \n ", "the text ends where a value was expected at position 3"],
    [
      "cut in a string",
      '{"path": "src/a',
      'the text ends inside the string that began at position 9, at position 15, near "{\\"path\\": \\"src/a"',
    ],
    ["cut after a key", '{"path"', 'the text ends where \':\' was expected at position 7, near "{\\"path\\""'],
    [
      "cut after a value",
      '{"a": 1',
      "the text ends where ',' or '}' was expected at position 7, near \"{\\\"a\\\": 1\"",
    ],
    [
      "a missing comma",
      '{"a": 1 "b": 2}',
      'unexpected \'"\' where \',\' or \'}\' was expected at position 8, near "{\\"a\\": 1 \\"b\\": 2}"',
    ],
    ["a trailing comma", "[1,]", "unexpected ']' where a value was expected at position 3, near \"[1,]\""],
    [
      "a trailing comma in an object",
      '{"a":1,}',
      'unexpected \'}\' where a key in double quotes was expected at position 7, near "{\\"a\\":1,}"',
    ],
    [
      "single quotes",
      "{'a': 1}",
      "unexpected ''' where a key in double quotes or '}' was expected at position 1, near \"{'a': 1}\"",
    ],
    ["a bare word", "hello", "unexpected 'h' where a value was expected at position 0, near \"hello\""],
    [
      "a number with a leading zero",
      "[01]",
      "unexpected '0' where a value or ']' was expected at position 1, near \"[01]\"",
    ],
    ["two values", "{} {}", "unexpected '{' where the end was expected at position 3, near \"{} {}\""],
    ["a line break in a string", '["a\nb"]', 'unescaped U+000A in a string at position 3, near "[\\"a\\nb\\"]"'],
    ["a bad escape", '["a\\qb"]', 'an escape that JSON does not have at position 3, near "[\\"a\\\\qb\\"]"'],
    [
      "cut in an escape",
      '["a\\u00',
      'the text ends inside the string that began at position 1, at position 7, near "[\\"a\\\\u00"',
    ],
    ["a byte order mark", "\ufeff{}", 'unexpected U+FEFF where a value was expected at position 0, near "\ufeff{}"'],
    ["NaN", "NaN", "unexpected 'N' where a value was expected at position 0, near \"NaN\""],
  ];
  test.each(faults)("says where it failed: %s", verifies("TOOL-3#position"), (_what, text, error) => {
    expect(errorOf(text)).toBe(error);
  });

  test("finds a fault in whatever does not parse", () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[[\]{},:"\\0-9eE.+\-a-z \n]{0,40}$/), (text) => {
        let parses = true;
        try {
          JSON.parse(text);
        } catch {
          parses = false;
        }
        expect(/ at position \d+/.test(errorOf(text))).toBe(!parses);
      }),
      { numRuns: 2000 },
    );
  });

  test("finds a fault in JSON that was cut anywhere", () => {
    fc.assert(
      fc.property(arbitraryJson, fc.nat(), (value, cut) => {
        const text = JSON.stringify([value]);
        const part = text.slice(0, cut % text.length);
        const cutInWord = /[\w.+-]$/.test(part);
        expect(errorOf(part)).toContain(cutInWord ? " at position " : "the text ends");
      }),
    );
  });

  test("bounds depth before it parses", verifies("SEC-12"), () => {
    expect(errorOf("[".repeat(10_000) + "]".repeat(10_000))).toBe("nested deeper than 200 levels (at position 200)");
    expect(errorOf(`${'{"a":'.repeat(10_000)}1${"}".repeat(10_000)}`)).toContain("nested deeper than 200 levels");
    expect(parseJson("[".repeat(200) + "]".repeat(200)).ok).toBe(true);
    expect(parseJson(JSON.stringify("[".repeat(10_000))).ok).toBe(true);
    expect(parseJson(JSON.stringify(`\\"${"[".repeat(10_000)}`)).ok).toBe(true);
    expect(parseJson("[[]]", { maxDepth: 1 }).ok).toBe(false);
    expect(parseJson("[1]", { maxDepth: 1 }).ok).toBe(true);
  });

  test("bounds size in bytes", verifies("SEC-12"), () => {
    expect(errorOf(JSON.stringify("x".repeat(8 * 1024 * 1024)))).toBe("larger than 8388608 bytes");
    expect(parseJson(JSON.stringify("x".repeat(5_000_000))).ok).toBe(true);
    expect(parseJson('"äää"', { maxBytes: 8 }).ok).toBe(true);
    expect(parseJson('"äää"', { maxBytes: 7 }).ok).toBe(false);
    expect(parseJson('"😀"', { maxBytes: 6 }).ok).toBe(true);
    expect(parseJson('"😀"', { maxBytes: 5 }).ok).toBe(false);
  });

  test("refuses keys that reach a prototype, also escaped and deep", verifies("SEC-12"), () => {
    expect(errorOf('{"__proto__": 1}')).toBe('the value has the key "__proto__", which is refused');
    expect(errorOf('{"a":[{"\\u005f_proto__":{}}]}')).toBe('a[0] has the key "__proto__", which is refused');
    expect(errorOf('{"constructor":{"prototype":{}}}')).toContain('"constructor"');
    expect(errorOf('{"x":{"prototype":{}}}')).toBe('x has the key "prototype", which is refused');
    expect(parseJson('["__proto__"]').ok).toBe(true);
  });

  test("refuses numbers that are not finite, keeps NUL and lone surrogates", verifies("SEC-12"), () => {
    expect(errorOf('{"a":1e999}')).toBe("a is a number that is not finite, which JSON does not have");
    const text = JSON.stringify(["\u0000", "\ud800", "\udc00x"]);
    expect(parseJson(text)).toEqual({ ok: true, value: ["\u0000", "\ud800", "\udc00x"] });
  });
});

describe("checkJson", () => {
  test("takes what JSON has and nothing else", verifies("SEC-12"), () => {
    expect(checkJson({ a: [1, null, "x", true] }).ok).toBe(true);
    const circular: unknown[] = [];
    circular.push(circular);
    const refused = [
      undefined,
      () => 1,
      Symbol("s"),
      1n,
      Number.NaN,
      new Date(),
      new Map(),
      { a: undefined },
      new Array(1),
      circular,
    ];
    for (const value of refused) expect(checkJson(value).ok).toBe(false);
    expect(checkJson(JSON.parse('{"__proto__":1}')).ok).toBe(false);
    expect(checkJson(Object.assign(Object.create(null), { a: 1 })).ok).toBe(true);
    expect(checkJson("x".repeat(100), { maxBytes: 50 })).toEqual({ ok: false, error: "larger than 50 bytes" });
  });
});

describe("canonicalJson", () => {
  test("is one text for equal values and parses back", () => {
    fc.assert(
      fc.property(arbitraryJson, (value) => {
        expect(JSON.parse(canonicalJson(value))).toEqual(value);
        expect(canonicalJson(reversed(value))).toBe(canonicalJson(value));
      }),
    );
    expect(canonicalJson({ b: [1, { d: null, c: "ä\ud800" }], a: -0 })).toBe(
      '{"a":0,"b":[1,{"c":"ä\\ud800","d":null}]}',
    );
  });

  test("makes equal hashes", () => {
    expect(hashInput({ a: 1, b: 2 })).toBe(hashInput({ b: 2, a: 1 }));
    expect(hashInput({ a: 1 })).not.toBe(hashInput({ a: "1" }));
    expect(sha256("abc")).toBe("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    expect(sha256(new TextEncoder().encode("abc"))).toBe(sha256("abc"));
  });
});

test("formatPath writes a place as code does", () => {
  expect(formatPath(["files", 0, "a-b", "x y", "0"])).toBe('files[0].a-b["x y"]["0"]');
  expect(formatPath([])).toBe("");
});

function reversed(value: Json): Json {
  if (Array.isArray(value)) return value.map((item: Json) => reversed(item));
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([key, member]) => [key, reversed(member)]),
  );
}

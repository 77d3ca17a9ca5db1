/**
 * JSON Schemas of strangers: each check ends, whatever the schema and the value say.
 */
import { describe, expect, test } from "vitest";
import type { Json } from "../../src/core/data/message.js";
import { createAgent } from "../../src/index.js";
import type { JsonSchema } from "../../src/ports/model.js";
import { compileInput } from "../../src/runtime/tools/schema.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import { verifies } from "../verifies.js";

/** `d0` refers twice to `d1`, that twice to `d2`, and so on: 2^levels checks. */
function doubling(levels: number, keyword: "allOf" | "anyOf" | "oneOf"): JsonSchema {
  const definitions: { [name: string]: Json } = { [`d${levels}`]: { type: "number" } };
  for (let level = 0; level < levels; level += 1) {
    const next = { $ref: `#/$defs/d${level + 1}` };
    definitions[`d${level}`] = { [keyword]: [next, next] };
  }
  return { type: "object", properties: { a: { $ref: "#/$defs/d0" } }, $defs: definitions };
}

function deepConditions(levels: number): JsonSchema {
  const definitions: { [name: string]: Json } = { [`d${levels}`]: true };
  for (let level = 0; level < levels; level += 1) {
    const next = { $ref: `#/$defs/d${level + 1}` };
    // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema.
    definitions[`d${level}`] = { if: next, then: next, else: next };
  }
  return { type: "object", properties: { a: { $ref: "#/$defs/d0" } }, $defs: definitions };
}

const numbers = Array.from({ length: 60_000 }, (_, index) => index);
const texts = Array.from({ length: 20_000 }, (_, index) => `text ${index}`);
const list = (more: JsonSchema): JsonSchema => ({ type: "object", properties: { a: { type: "array", ...more } } });

const costly: readonly { readonly name: string; readonly schema: JsonSchema; readonly value: Json }[] = [
  { name: "references that double in allOf", schema: doubling(40, "allOf"), value: { a: 1 } },
  { name: "references that double in anyOf", schema: doubling(40, "anyOf"), value: { a: "x" } },
  { name: "references that double in oneOf", schema: doubling(40, "oneOf"), value: { a: 1 } },
  { name: "conditions that double", schema: deepConditions(40), value: { a: 1 } },
  { name: "items that must differ", schema: list({ uniqueItems: true }), value: { a: numbers } },
  {
    name: "many alternatives for many items",
    schema: list({ items: { anyOf: texts.slice(0, 3_000).map((one) => ({ const: one })) } }),
    value: { a: numbers },
  },
  {
    name: "a long list of values for many items",
    schema: list({ items: { not: { enum: texts } } }),
    value: { a: [...texts, ...texts].map((text) => `${text}!`) },
  },
  {
    name: "a format that backtracks",
    schema: { type: "object", properties: { a: { type: "string", format: "url" } } },
    value: { a: `http://${"a".repeat(60)}!` },
  },
];

describe("a check by a JSON Schema ends", verifies("SEC-15"), () => {
  test.each(costly)("$name", async ({ schema, value }) => {
    expect(await compileInput(schema).validate(value)).toEqual({
      ok: false,
      issues: [{ path: "", message: expect.stringMatching(/it took longer than 250 ms|call stack size exceeded/) }],
    });
  });

  test("and the run goes on with the next call, and with the next answer", async () => {
    const tool = { name: "take", description: "Takes.", input: doubling(40, "allOf"), execute: () => "taken" };
    const model = createScriptedModel([
      {
        calls: [
          { name: "take", input: { a: 1 } },
          { name: "take", input: {} },
        ],
      },
      { text: '{"a":1}' },
      { text: "{}" },
    ]);
    const agent = createAgent({ model, tools: [tool] });
    const result = await agent.run("Go", { output: doubling(40, "allOf") });
    expect(result).toMatchObject({ status: "completed", output: {} });
    expect(model.requests[1]?.messages.at(-1)).toMatchObject({
      parts: [{ isError: true, output: { text: expect.stringContaining("250 ms") } }, { output: { text: "taken" } }],
    });
    expect(JSON.stringify(model.requests[2]?.messages.at(-1))).toContain("250 ms");
  });

  test.each([
    { name: "references", schema: doubling(6, "allOf"), value: { a: 1 }, wrong: { a: "x" } },
    { name: "items that differ", schema: list({ uniqueItems: true }), value: { a: [1, 2] }, wrong: { a: [1, 1] } },
    {
      name: "a long list",
      schema: list({ items: { enum: texts } }),
      value: { a: texts.slice(0, 500) },
      wrong: { a: ["x"] },
    },
  ])("and still tells what fits: $name", async ({ schema, value, wrong }) => {
    const { validate } = compileInput(schema);
    expect(await validate(value)).toEqual({ ok: true, value });
    expect(await validate(wrong)).toMatchObject({ ok: false });
  });
});

describe("a schema out of bounds is refused when it comes in", verifies("SEC-15"), () => {
  function nested(levels: number): JsonSchema {
    let schema: JsonSchema = { type: "number" };
    for (let level = 0; level < levels; level += 1) schema = { type: "object", properties: { a: schema } };
    return schema;
  }

  test.each([
    { name: "too deep", schema: nested(40), reason: "nested deeper than 64 levels" },
    {
      name: "deeper than can be copied",
      schema: nested(800),
      reason: "nested deeper than 64 levels",
    },
    {
      name: "too many values",
      schema: { type: "object", properties: { a: { enum: numbers } } },
      reason: "it is too large",
    },
    {
      name: "paths that add up",
      schema: {
        type: "object",
        properties: {
          ["a".repeat(20_000)]: { type: "object", properties: Object.fromEntries(texts.map((text) => [text, true])) },
        },
      },
      reason: "it is too large",
    },
  ])("$name", ({ schema, reason }) => {
    expect(() => compileInput(schema)).toThrow(reason);
  });

  test("but not one that people write", () => {
    expect(() => compileInput(nested(25))).not.toThrow();
  });
});

import type { StandardSchemaV1 } from "@standard-schema/spec";
import { toStandardJsonSchema } from "@valibot/to-json-schema";
import { jsonSchema, zodSchema } from "ai";
import { type } from "arktype";
import * as v from "valibot";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import * as zodMini from "zod/mini";
import type { Json } from "../../src/core/data/message.js";
import type { PawlError } from "../../src/errors.js";
import type { InputSchema } from "../../src/ports/tool.js";
import { compileInput, type InputIssue } from "../../src/runtime/tools/schema.js";
import { verifies } from "../verifies.js";

const personSchema = {
  type: "object",
  properties: { name: { type: "string" }, age: { type: "number" } },
  required: ["name"],
} as const;

const schemas: readonly [library: string, schema: InputSchema<unknown>][] = [
  ["zod", z.object({ name: z.string(), age: z.optional(z.number()) })],
  ["valibot", toStandardJsonSchema(v.object({ name: v.string(), age: v.optional(v.number()) }))],
  ["arktype", type({ name: "string", "age?": "number" })],
  ["a JSON Schema", personSchema],
  ["the AI SDK's jsonSchema()", jsonSchema(personSchema as never)],
  ["the AI SDK's zodSchema()", zodSchema(z.object({ name: z.string(), age: z.optional(z.number()) }))],
];

async function issuesOf(schema: InputSchema<unknown>, value: Json): Promise<readonly InputIssue[]> {
  const result = await compileInput(schema).validate(value);
  return result.ok ? [] : result.issues;
}

function refusalOf(schema: unknown): string {
  try {
    compileInput(schema as InputSchema<unknown>);
  } catch (error) {
    expect(error).toMatchObject({ name: "PawlError", code: "bad_configuration" });
    return (error as PawlError).message;
  }
  throw new Error("it was not refused");
}

function withValidate(validate: StandardSchemaV1.Props["validate"]): StandardSchemaV1 {
  const convert = () => ({ type: "object" });
  const standard = {
    version: 1 as const,
    vendor: "by hand",
    validate,
    jsonSchema: { input: convert, output: convert },
  };
  return { "~standard": standard };
}

describe.each(schemas)("%s", (_library, schema) => {
  test("gives the JSON Schema that a model is told", verifies("TOOL-1#schema"), () => {
    const compiled = compileInput(schema);
    expect(compiled.jsonSchema).toMatchObject(personSchema);
    expect(compiled.jsonSchema).not.toHaveProperty("$schema");
    expect(() => structuredClone(compiled.jsonSchema)).not.toThrow();
  });

  test(
    "accepts what fits and lists what does not, with its place",
    verifies("TOOL-1#schema", "TOOL-3#issues"),
    async () => {
      const { validate } = compileInput(schema);
      expect(await validate({ name: "Ada", age: 36 })).toEqual({ ok: true, value: { name: "Ada", age: 36 } });
      const wrong = await issuesOf(schema, { name: "Ada", age: "old" });
      expect(wrong.map((issue) => issue.path)).toEqual(["age"]);
      expect(wrong[0]?.message).toMatch(/number/);
      expect((await issuesOf(schema, {}))[0]).toMatchObject({
        path: expect.stringMatching(/^(name)?$/),
        message: expect.stringMatching(/name|string/i),
      });
      expect(await issuesOf(schema, [])).not.toEqual([]);
      expect(await issuesOf(schema, null)).not.toEqual([]);
    },
  );
});

describe("what a schema makes of the input", () => {
  test("is what execute gets: defaults and transforms", verifies("TOOL-1#schema"), async () => {
    const schema = z.object({ day: z.string().transform((text) => text.length), limit: z.number().default(10) });
    expect(await compileInput(schema).validate({ day: "Monday" })).toEqual({ ok: true, value: { day: 6, limit: 10 } });
    expect(compileInput(schema).jsonSchema).toMatchObject({ required: ["day"] });
  });

  test("may take time", async () => {
    const schema = z.object({ id: z.string().refine(async (id) => id !== "taken", "is taken") });
    expect(await issuesOf(schema, { id: "taken" })).toEqual([{ path: "id", message: "is taken" }]);
    expect(await issuesOf(schema, { id: "free" })).toEqual([]);
  });

  test("never throws", verifies("TOOL-3#issues"), async () => {
    const throwing = z.object({
      id: z.string().refine(() => {
        throw new Error("no database");
      }),
    });
    const rejecting = withValidate(async () => {
      throw new Error("no database");
    });
    const issue = { path: "", message: "the input schema failed: no database" };
    expect(await issuesOf(throwing, { id: "x" })).toEqual([issue]);
    expect(await issuesOf(rejecting, { id: "x" })).toEqual([issue]);
    const unresolved = { type: "object", properties: { a: { $ref: "#/$defs/none" } } };
    expect((await issuesOf(unresolved, { a: 1 }))[0]?.message).toContain("the input schema failed");
  });
});

describe("a JSON Schema", () => {
  const schema = {
    type: "object",
    properties: {
      files: {
        type: "array",
        items: {
          type: "object",
          properties: { "a/b": { type: "number" } },
          required: ["a/b"],
          additionalProperties: false,
        },
      },
      either: { anyOf: [{ type: "string" }, { type: "number" }] },
      one: { oneOf: [{ type: "number" }, { minimum: 1 }] },
      whole: { $ref: "#/$defs/whole" },
    },
    additionalProperties: false,
    $defs: { whole: { type: "integer" } },
  };
  const cases: readonly [what: string, value: Json, issues: readonly [path: string, message: string][]][] = [
    ["nothing wrong", { files: [{ "a/b": 1 }], either: 1, whole: 3 }, []],
    ["a property it does not have", { other: 1 }, [["other", "is not a property that the schema has"]]],
    [
      "a place in a list",
      { files: [{ "a/b": 1 }, { "a/b": "x" }] },
      [['files[1]["a/b"]', 'must be of type number; got the string "x"']],
    ],
    ["what is required", { files: [{}] }, [["files[0]", 'Instance does not have required property "a/b".']]],
    [
      "none of several",
      { either: true },
      [
        ["either", "must be of type string; got the boolean true"],
        ["either", "must be of type number; got the boolean true"],
      ],
    ],
    ["more than one of several", { one: 2 }, [["one", "must fit only one of the alternatives; it fits 2"]]],
    ["what is referred to", { whole: 1.5 }, [["whole", "must be of type integer; got the number 1.5"]]],
  ];
  test.each(cases)("says once, and where: %s", verifies("TOOL-3#issues"), async (_what, value, issues) => {
    expect((await issuesOf(schema, value)).map(({ path, message }) => [path, message])).toEqual(issues);
  });

  const long = "y".repeat(500);
  const words: readonly [schema: Json, value: Json, words: string][] = [
    [{ enum: ["x", "y"] }, "z", 'must be one of "x" or "y"; got "z"'],
    [{ enum: Array.from({ length: 5_000 }, (_, n) => `option ${n}`) }, 1, '"option 2", "option 3"'],
    [{ const: 3 }, 4, "must be 3; got 4"],
    [{ pattern: "^a$" }, "b", 'must match the pattern "^a$"; got "b"'],
    [{ pattern: "^a$" }, long, `got "${"y".repeat(100)}"…`],
    [{ format: "date" }, "soon", 'must have the format "date"; got "soon"'],
    [{ minLength: 3 }, "a", "must have at least 3 characters; got 1"],
    [{ maxLength: 1 }, "abc", "must have at most 1 characters; got 3"],
    [{ minimum: 3 }, 2, "must be at least 3; got 2"],
    [{ maximum: 3 }, 4, "must be at most 3; got 4"],
    [{ exclusiveMinimum: 5 }, 5, "must be more than 5; got 5"],
    [{ exclusiveMaximum: 5 }, 5, "must be less than 5; got 5"],
    [{ multipleOf: 2 }, 3, "must be a multiple of 2; got 3"],
    [{ minItems: 2 }, [1], "must have at least 2 items; got a list of 1"],
    [{ maxItems: 1 }, [1, 2], "must have at most 1 items; got a list of 2"],
    [{ uniqueItems: true }, [1, 1], "must have no equal items; got a list of 2"],
    [{ minProperties: 1 }, {}, "must have at least 1 properties; got an object"],
    [{ type: ["string", "null"] }, 1, "must be of type string or null; got the number 1"],
    [{ not: { type: "string" } }, "s", 'must not fit what the schema excludes; got "s"'],
    [{ type: "string" }, null, "must be of type string; got null"],
    [{ contains: { type: "string" } }, [1], "Array does not contain item matching schema."],
  ];
  test.each(words)(
    "says what was wanted and what was there: %j",
    verifies("OUT-3"),
    async (member, value, expected) => {
      const [issue] = await issuesOf({ type: "object", properties: { a: member } }, { a: value });
      expect(issue?.path).toBe("a");
      expect(issue?.message).toContain(expected);
      expect(issue?.message.length).toBeLessThan(1_000);
    },
  );

  test("lists no more than a model can use", async () => {
    const value = { files: Array.from({ length: 300 }, () => ({ "a/b": "x" })) };
    const issues = await issuesOf(schema, value);
    expect(issues).toHaveLength(21);
    expect(issues.at(-1)).toEqual({ path: "", message: "and 280 more" });
  });

  test("takes the dialect that it names", async () => {
    const tuple = {
      $schema: "https://json-schema.org/draft/2020-12/schema",
      type: "object",
      properties: { pair: { type: "array", prefixItems: [{ type: "number" }], items: false } },
    };
    expect(await issuesOf(tuple, { pair: [1] })).toEqual([]);
    expect((await issuesOf(tuple, { pair: [1, 2] }))[0]?.path).toBe("pair[1]");
  });

  test("is completed where it leaves the type open", () => {
    expect(compileInput({}).jsonSchema).toEqual({ type: "object" });
    expect(
      compileInput(
        z.discriminatedUnion("kind", [z.object({ kind: z.literal("a") }), z.object({ kind: z.literal("b") })]),
      ).jsonSchema,
    ).toMatchObject({ type: "object", oneOf: [{}, {}] });
  });
});

describe("a schema that cannot be used is refused with what to do", () => {
  const cases: readonly [what: string, schema: unknown, reason: string][] = [
    ["valibot alone", v.object({ a: v.string() }), "its library (valibot) does not provide a JSON Schema"],
    ["zod/mini", zodMini.object({}), "its library (zod) does not provide a JSON Schema"],
    [
      "what JSON Schema cannot say",
      z.object({ at: z.date() }),
      "cannot convert it to JSON Schema: Date cannot be represented",
    ],
    ["a number", z.number(), 'its JSON Schema is of type "number"'],
    ["a list", { type: "array" }, 'its JSON Schema is of type "array"'],
    ["a promise", jsonSchema(async () => ({ type: "object" })), "its JSON Schema is a promise"],
    ["nothing", undefined, "it is of type undefined"],
    ["null", null, "it is null"],
    ["a function", () => ({}), "it is neither a Standard Schema nor a JSON Schema"],
    ["a dangerous property", { type: "object", properties: JSON.parse('{"__proto__": {}}') }, "__proto__"],
  ];
  test.each(cases)("%s", verifies("TOOL-1#schema"), (_what, schema, reason) => {
    expect(refusalOf(schema)).toContain(reason);
  });
});

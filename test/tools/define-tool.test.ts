import { toStandardJsonSchema } from "@valibot/to-json-schema";
import { tool as aiTool, jsonSchema } from "ai";
import { type } from "arktype";
import * as v from "valibot";
import { describe, expect, expectTypeOf, test } from "vitest";
import { z } from "zod";
import type { Json } from "../../src/core/data/message.js";
import type { AnyTool, Tool } from "../../src/ports/tool.js";
import { normaliseTools } from "../../src/runtime/tools/compile-tools.js";
import { type DefinedTool, defineTool } from "../../src/tools/lib/define-tool.js";
import { verifies } from "../verifies.js";

const basics = { name: "add", description: "Adds" } as const;

describe("defineTool", () => {
  test("gives execute what zod makes of the input", verifies("TOOL-1#schema"), () => {
    const input = z.object({ a: z.number(), b: z.string().transform(Number), c: z.number().default(1) });
    const add = defineTool({
      ...basics,
      input,
      needsApproval: (given) => {
        expectTypeOf(given).toEqualTypeOf<{ a: number; b: number; c: number }>();
        return given.a > 1;
      },
      execute: (given, context) => {
        expectTypeOf(given).toEqualTypeOf<{ a: number; b: number; c: number }>();
        expectTypeOf(context.signal).toEqualTypeOf<AbortSignal>();
        return given.a + given.b;
      },
    });
    expectTypeOf(add).toEqualTypeOf<DefinedTool<"add", typeof input, number>>();
    expectTypeOf(add).toExtend<Tool<{ a: number; b: number; c: number }, number>>();
    expect(add.input).toBe(input);
  });

  test("gives execute what valibot and arktype make of the input", verifies("TOOL-1#schema"), () => {
    defineTool({
      ...basics,
      input: toStandardJsonSchema(v.object({ a: v.number(), b: v.optional(v.string(), "x") })),
      execute: (given) => expectTypeOf(given).toEqualTypeOf<{ a: number; b: string }>(),
    });
    defineTool({
      ...basics,
      input: type({ a: "number", "b?": "string" }),
      execute: (given) => expectTypeOf(given).toEqualTypeOf<{ a: number; b?: string }>(),
    });
  });

  test("gives execute what the AI SDK's schema and a JSON Schema say", verifies("TOOL-1#schema"), () => {
    defineTool({
      ...basics,
      input: jsonSchema<{ a: number }>({ type: "object" }),
      execute: (given) => expectTypeOf(given).toEqualTypeOf<{ a: number }>(),
    });
    defineTool({
      ...basics,
      input: { type: "object", properties: { a: { type: "number" } }, required: ["a"] },
      execute: (given) => expectTypeOf(given).toEqualTypeOf<{ readonly [key: string]: Json }>(),
    });
  });

  test("fits where tools are taken, beside the AI SDK's", verifies("TOOL-1#schema"), () => {
    const add = defineTool({ ...basics, input: z.object({ a: z.number() }), execute: ({ a }) => a });
    const external = defineTool({ ...basics, name: "ask", input: z.object({ question: z.string() }) });
    const list: readonly AnyTool[] = [add, external];
    const now = aiTool({ description: "Now", inputSchema: z.object({}), execute: async () => "now" });
    expect(normaliseTools(list).size).toBe(2);
    expect(normaliseTools({ add, now }).size).toBe(2);
  });
});

/**
 * `defineTool`: infers the type of a tool's input from its schema.
 */

import type { StandardSchemaV1 } from "@standard-schema/spec";
import { checkTool } from "../../check-tool.js";
import type { Json } from "../../core/data/message.js";
import type { AiSdkSchema, AnyTool, InputSchema, Tool } from "../../ports/tool.js";

/** The type of a tool's input. For a JSON Schema, which the compiler cannot evaluate, it is an object of JSON values. */
export type InputOf<Schema> = Schema extends StandardSchemaV1
  ? StandardSchemaV1.InferOutput<Schema>
  : Schema extends AiSdkSchema<infer Input>
    ? Input
    : { readonly [key: string]: Json };

/**
 * Returns the tool unchanged. The type of its input is inferred from its schema. Throws a PawlError `bad_configuration` for a
 * name that providers do not accept, for an unknown option, and for a missing description.
 *
 * @example
 * ```ts
 * import { z } from "zod";
 *
 * const add = defineTool({
 *   name: "add",
 *   description: "Adds two numbers",
 *   input: z.object({ a: z.number(), b: z.number() }),
 *   readOnly: true,
 *   execute: ({ a, b }) => a + b,
 * });
 * ```
 */
export function defineTool<const Schema extends InputSchema<unknown>, Output>(
  tool: Omit<Tool<InputOf<Schema>, Output>, "input"> & {
    /** The schema of its input. */
    readonly input: Schema;
  },
): Tool<InputOf<Schema>, Output> {
  checkTool("defineTool()", tool as unknown as AnyTool);
  // The compiler cannot know that a schema accepts the type that is inferred from it.
  return tool as unknown as Tool<InputOf<Schema>, Output>;
}

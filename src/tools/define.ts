/**
 * Tools with types: what the schema says of the input reaches `execute`.
 */
import type { StandardSchemaV1 } from "@standard-schema/spec";
import type { Json } from "../core/data/message.js";
import type { AiSdkSchema, InputSchema, Tool } from "../ports/tool.js";

/** What `execute` gets for a schema. A JSON Schema says nothing to the compiler: its input is an object of JSON. */
export type InputOf<Schema> = Schema extends StandardSchemaV1
  ? StandardSchemaV1.InferOutput<Schema>
  : Schema extends AiSdkSchema<infer Input>
    ? Input
    : { readonly [key: string]: Json };

/**
 * Gives back the tool that it is given, with the type of its input taken from the schema.
 *
 * ```ts
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
  tool: Omit<Tool<InputOf<Schema>, Output>, "input"> & { readonly input: Schema },
): Tool<InputOf<Schema>, Output> {
  // The compiler cannot see that a schema takes what is inferred from it.
  return tool as unknown as Tool<InputOf<Schema>, Output>;
}

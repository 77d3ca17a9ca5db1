/**
 * `defineTool` and `defineToolFor`: infer the type of a tool's input from its schema.
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

/** The type of a tool's input as the model writes it, before the schema transforms it: in the log, in streams and in pages. */
export type RawInputOf<Schema> = Schema extends StandardSchemaV1
  ? StandardSchemaV1.InferInput<Schema>
  : Schema extends AiSdkSchema<infer Input>
    ? Input
    : { readonly [key: string]: Json };

/** A tool whose name and schema the compiler knows. `~types` is never set; only the compiler reads it. */
export type DefinedTool<Name extends string, Schema, Output, Deps = unknown, Params = unknown> = Tool<
  InputOf<Schema>,
  Output,
  Deps,
  Params
> & {
  readonly name: Name;
  /** The tool's types, for `InferUiTools` and `isCallOf`. Never set at run time. */
  readonly "~types"?: {
    /** The type of the input schema. */
    readonly schema: Schema;
    /** The type of the result. */
    readonly output: Output;
  };
};

type Definition<Name extends string, Schema, Output, Deps, Params> = Omit<
  Tool<InputOf<Schema>, Output, Deps, Params>,
  "input" | "name" | "~deps" | "~params"
> & {
  /** The name by which the model calls the tool: 1 to 64 letters, digits, `_` or `-`. */
  readonly name: Name;
  /** The schema of the tool's input. */
  readonly input: Schema;
  /** The AI SDK's name for `input`. Declared so that the compiler reports this property, and not `execute`, as the mistake. */
  readonly inputSchema?: never;
  /** The same for a name in other libraries. */
  readonly parameters?: never;
};

/**
 * Returns the tool unchanged. The type of its input is inferred from its schema, and the type of `deps` from an annotation on
 * `execute`: `(input, { deps }: ToolContext<Deps>) => …`. Throws a PawlError `bad_configuration` for a name that providers do not
 * accept, an unknown option, or a missing description.
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
export function defineTool<
  const Schema extends InputSchema<unknown>,
  Output,
  Deps = unknown,
  const Name extends string = string,
  Params = unknown,
>(tool: Definition<Name, Schema, Output, Deps, Params>): DefinedTool<Name, Schema, Output, Deps, Params> {
  checkTool("defineTool()", tool as unknown as AnyTool);
  // The compiler cannot know that a schema accepts the type that is inferred from it.
  return tool as unknown as DefinedTool<Name, Schema, Output, Deps, Params>;
}

/** A `defineTool` whose tools have typed `deps` and `params` without an annotation. */
export type DefineToolFor<Deps, Params = unknown> = <
  const Schema extends InputSchema<unknown>,
  Output,
  const Name extends string = string,
>(
  tool: Definition<Name, Schema, Output, Deps, Params>,
) => DefinedTool<Name, Schema, Output, Deps, Params>;

/**
 * Returns a `defineTool` whose tools get `deps` and `params` of these types in `execute`, `needsApproval` and `reconcile`, whatever
 * the order of the members. Call it once per program.
 *
 * @example
 * ```ts
 * import { z } from "zod";
 *
 * type Deps = { readonly orders: Map<string, number> };
 * const tool = defineToolFor<Deps>();
 * const find = tool({
 *   name: "find_order",
 *   description: "Finds the total of an order",
 *   input: z.object({ order: z.string() }),
 *   readOnly: true,
 *   execute: ({ order }, { deps }) => deps.orders.get(order) ?? "There is no such order.",
 * });
 * const agent = createAgent({ model, deps: { orders: new Map([["A1", 80]]) }, tools: [find] });
 * ```
 */
export function defineToolFor<Deps, Params = unknown>(): DefineToolFor<Deps, Params> {
  return (tool) => defineTool(tool);
}

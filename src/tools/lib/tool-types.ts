/**
 * The types of an agent's tools, for web pages and for readers of streams.
 *
 * 1. The types are those of the compiled code. A log may contain calls of older versions of a tool.
 * 2. A tool whose name or schema is unknown to the compiler, for example an MCP tool, has no entry.
 */
import type { Json, ToolOutput } from "../../core/data/message.js";
import type { PublicEvent } from "../../core/view/public-event.js";
import type { Jsonified } from "../../ports/tool.js";
import type { RawInputOf } from "./define-tool.js";

type Typed = {
  /** The type of the input schema. */
  readonly schema: unknown;
  /** The type of the result. */
  readonly output: unknown;
};

type TypesOf<Tool> = Tool extends { readonly "~types"?: infer Types }
  ? NonNullable<Types> extends { readonly schema: infer Schema; readonly output: infer Output }
    ? { readonly input: RawInputOf<Schema>; readonly output: ShownOutput<Output> }
    : unknown
  : unknown;

/** A tool's `ToolOutput` can hold any text, value or parts. */
type ShownOutput<Output> = Jsonified<Output extends ToolOutput ? Json : Output>;

/**
 * The input and output types of the tools in an array or a record, by name: the `UITools` of the AI SDK. Inputs have the form in
 * which the model writes them, before the schema adds defaults. Outputs have their JSON form: a `Date` is a string.
 *
 * @example
 * ```ts
 * import type { UIMessage } from "ai";
 *
 * type Message = UIMessage<unknown, never, InferUiTools<typeof tools>>;
 * ```
 */
export type InferUiTools<Tools> = Tools extends readonly (infer One)[]
  ? {
      [Tool in One as Tool extends { readonly name: infer Name extends string; readonly "~types"?: Typed }
        ? string extends Name
          ? never
          : unknown extends TypesOf<Tool>
            ? never
            : Name
        : never]: TypesOf<Tool>;
    }
  : Tools extends { readonly [name: string]: unknown }
    ? { [Name in keyof Tools & string as unknown extends TypesOf<Tools[Name]> ? never : Name]: TypesOf<Tools[Name]> }
    : never;

type ToolCallEvent = Extract<PublicEvent, { readonly type: "tool_call" }>;

/** JSON has no `undefined`: an optional property is present or absent. */
type Written<Input> = Json extends Input
  ? Input
  : Input extends object
    ? { readonly [Key in keyof Input]: Written<Exclude<Input[Key], undefined>> }
    : Input;

/** The `tool_call` event of a valid call of this tool. */
export type CallOf<Tool extends { readonly name: string }> = Omit<ToolCallEvent, "name" | "input" | "invalid"> & {
  readonly name: Tool["name"];
  /** The input as the model wrote it, before the schema adds defaults. */
  readonly input: TypesOf<Tool> extends { readonly input: infer Input } ? Written<Input> : Json;
  readonly invalid?: never;
};

/**
 * Whether a stream item is a valid call of this tool. If so, its input has the type of the tool's schema.
 *
 * @example
 * ```ts
 * import { z } from "zod";
 *
 * const refund = defineTool({
 *   name: "refund",
 *   description: "Refunds an order",
 *   input: z.object({ order: z.string() }),
 *   execute: ({ order }) => `Refunded ${order}.`,
 * });
 * for await (const item of agent.runStream("Refund order A1.")) {
 *   if (isCallOf(item, refund)) console.log(item.input.order);
 * }
 * ```
 */
export function isCallOf<Tool extends { readonly name: string }>(
  item: { readonly type: string },
  tool: Tool,
): item is CallOf<Tool> {
  if (item.type !== "tool_call") return false;
  const { name, invalid } = item as { readonly name?: unknown; readonly invalid?: unknown };
  return name === tool.name && invalid !== true;
}

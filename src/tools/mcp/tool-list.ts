/**
 * Reads the tools that an MCP server lists. The list is untrusted, so it is bounded and checked. A tool that cannot be
 * used is left out, and named in `problems`.
 */

import { type Schema, Validator } from "@cfworker/json-schema";
import { getErrorMessage } from "../../core/data/error-message.js";
import { isObject, type JsonObject } from "../../core/data/is-object.js";
import { checkJson } from "../../core/data/json.js";
import { maxSchemaLevels, measureSchema } from "../../core/data/json-weight.js";
import type { Json } from "../../core/data/message.js";
import { findHeaderProblem } from "./header-marks.js";
import { hashJson } from "./options.js";

/** A usable tool of a server. */
export type ListedTool = {
  /** The server's name for the tool. */
  readonly name: string;
  /** The tool's name for the model. */
  readonly toolName: string;
  readonly description: string;
  readonly inputSchema: { readonly [key: string]: Json };
  /** The server's claim, which may be false. */
  readonly saysReadOnly: boolean;
  readonly hash: string;
  /** The schema of its structured content; null if it has no usable one. The model does not see it. */
  readonly outputSchema: JsonObject | null;
};

export type Listing = { readonly tools: readonly ListedTool[]; readonly problems: readonly string[] };

const maxTools = 256;
const maxDescription = 16_384;
const maxSchemaBytes = 262_144;
const maxName = 64;

type ListingOptions = {
  /** The name of the server. */
  readonly server: string;
  /** If given, only these tools are used. */
  readonly wantedTools: readonly string[] | undefined;
  /** Whether parameters can be marked for HTTP headers. */
  readonly overHttp: boolean;
};

export function parseListing(tools: readonly unknown[], options: ListingOptions): Listing {
  const { wantedTools } = options;
  const listed = new Map<string, ListedTool>();
  const problems: string[] = [];
  const names = new Set(tools.map(nameOf));
  const chosen = wantedTools === undefined ? tools : tools.filter((tool) => wantedTools.includes(nameOf(tool)));
  for (const name of wantedTools ?? [])
    if (!names.has(name)) problems.push(`The server has no tool ${JSON.stringify(name)}.`);
  if (chosen.length > maxTools)
    problems.push(
      `The server lists ${chosen.length} tools; only the first ${maxTools} are used. Name the tools that you need.`,
    );
  for (const tool of chosen.slice(0, maxTools)) {
    const parsed = parseTool(tool, options);
    const omittedNote = `The tool ${JSON.stringify(nameOf(tool).slice(0, 100))} is left out:`;
    if (typeof parsed === "string") problems.push(`${omittedNote} ${parsed}.`);
    else if (listed.has(parsed.toolName)) problems.push(`${omittedNote} the server lists it twice.`);
    else listed.set(parsed.toolName, parsed);
  }
  return { tools: [...listed.values()], problems };
}

/** A tool as the server describes it. It may have any shape. */
type UntrustedTool = {
  readonly [field in "name" | "description" | "inputSchema" | "outputSchema" | "annotations"]?: unknown;
};

function nameOf(tool: unknown): string {
  const { name } = Object(tool) as UntrustedTool;
  return typeof name === "string" ? name : "";
}

/** Returns the tool, or the reason why it cannot be used. */
function parseTool(tool: unknown, { server, overHttp }: ListingOptions): ListedTool | string {
  const { description = "", inputSchema, outputSchema, annotations } = Object(tool) as UntrustedTool;
  const name = nameOf(tool);
  if (name === "") return "it has no name";
  if (typeof description !== "string") return "its description is no text";
  const schema = parseInputSchema(inputSchema);
  if (typeof schema === "string") return schema;
  const headerProblem = overHttp ? findHeaderProblem(schema) : null;
  if (headerProblem !== null) return headerProblem;
  const { readOnlyHint } = Object(annotations) as { readonly readOnlyHint?: unknown };
  const saysReadOnly = readOnlyHint === true;
  return {
    name,
    toolName: toModelToolName(server, name),
    description: description.length > maxDescription ? `${description.slice(0, maxDescription)} … (cut)` : description,
    inputSchema: schema,
    saysReadOnly,
    hash: hashJson({ name, description, schema, saysReadOnly }),
    outputSchema: readOutputSchema(outputSchema),
  };
}

/** A tool with an unusable output schema can still be used. */
function readOutputSchema(schema: unknown): JsonObject | null {
  const parsed = schema === undefined ? "absent" : parseInputSchema(schema);
  return typeof parsed === "string" ? null : parsed;
}

/** Returns the schema, or the reason why it cannot be used. */
function parseInputSchema(inputSchema: unknown): ListedTool["inputSchema"] | string {
  const checked = checkJson(inputSchema, { maxBytes: maxSchemaBytes, maxDepth: maxSchemaLevels });
  if (!checked.ok) return `its input schema is not valid JSON, or out of bounds (${checked.error})`;
  const schema = checked.value;
  if (!isObject(schema)) return "it has no input schema";
  const object = schema as ListedTool["inputSchema"];
  if (object.type !== "object") return "its input schema is not that of an object";
  const measure = measureSchema(schema);
  if ("fault" in measure) return `its input schema is out of bounds (${measure.fault})`;
  try {
    new Validator(structuredClone(object) as Schema, "2020-12", false);
  } catch (error) {
    return `its input schema is not a JSON Schema (${getErrorMessage(error)})`;
  }
  return object;
}

/**
 * A name that every provider accepts. A changed name ends in a part of its hash, so that different names stay
 * different.
 */
function toModelToolName(server: string, name: string): string {
  const prefixedName = `${server}_${name}`;
  const safe = prefixedName.replace(/[^a-zA-Z0-9_-]/g, "_");
  if (safe === prefixedName && safe.length <= maxName) return safe;
  return `${safe.slice(0, maxName - 9)}_${hashJson(name).slice(0, 8)}`;
}

/**
 * Reads the tools that an MCP server lists. The list is untrusted, so it is bounded and checked. A tool that cannot be
 * used is left out, and named in `problems`.
 */
import { type Schema, Validator } from "@cfworker/json-schema";
import { checkJson } from "../../core/data/json.js";
import { measureSchema, mostSchemaLevels } from "../../core/data/json-weight.js";
import type { Json } from "../../core/data/message.js";
import { hashOf } from "./options.js";

/** A usable tool of a server. */
export type Listed = {
  /** The server's name for the tool. */
  readonly name: string;
  /** The tool's name for the model. */
  readonly toolName: string;
  readonly description: string;
  readonly inputSchema: { readonly [key: string]: Json };
  /** The server's claim, which may be false. */
  readonly saysReadOnly: boolean;
  readonly hash: string;
};

export type Listing = { readonly tools: readonly Listed[]; readonly problems: readonly string[] };

const mostTools = 256;
const longestDescription = 16_384;
const mostSchemaBytes = 262_144;
const longestName = 64;

export function readListing(server: string, tools: readonly unknown[], wanted: readonly string[] | undefined): Listing {
  const listed = new Map<string, Listed>();
  const problems: string[] = [];
  const names = new Set(tools.map(nameOf));
  const chosen = wanted === undefined ? tools : tools.filter((tool) => wanted.includes(nameOf(tool)));
  for (const name of wanted ?? [])
    if (!names.has(name)) problems.push(`The server has no tool ${JSON.stringify(name)}.`);
  if (chosen.length > mostTools)
    problems.push(
      `The server lists ${chosen.length} tools; only the first ${mostTools} are used. Name the tools that you need.`,
    );
  for (const tool of chosen.slice(0, mostTools)) {
    const read = readTool(server, tool);
    const leftOut = `The tool ${JSON.stringify(nameOf(tool).slice(0, 100))} is left out:`;
    if (typeof read === "string") problems.push(`${leftOut} ${read}.`);
    else if (listed.has(read.toolName)) problems.push(`${leftOut} the server lists it twice.`);
    else listed.set(read.toolName, read);
  }
  return { tools: [...listed.values()], problems };
}

/** What a server says of a tool. It may have any shape. */
type SaidTool = { readonly [field in "name" | "description" | "inputSchema" | "annotations"]?: unknown };

function nameOf(tool: unknown): string {
  const { name } = Object(tool) as SaidTool;
  return typeof name === "string" ? name : "";
}

/** Returns the tool, or the reason why it cannot be used. */
function readTool(server: string, tool: unknown): Listed | string {
  const { description = "", inputSchema, annotations } = Object(tool) as SaidTool;
  const name = nameOf(tool);
  if (name === "") return "it has no name";
  if (typeof description !== "string") return "its description is no text";
  const schema = readSchema(inputSchema);
  if (typeof schema === "string") return schema;
  const { readOnlyHint } = Object(annotations) as { readonly readOnlyHint?: unknown };
  const saysReadOnly = readOnlyHint === true;
  return {
    name,
    toolName: toolNameOf(server, name),
    description:
      description.length > longestDescription ? `${description.slice(0, longestDescription)} … (cut)` : description,
    inputSchema: schema,
    saysReadOnly,
    hash: hashOf({ name, description, schema, saysReadOnly }),
  };
}

/** Returns the schema, or the reason why it cannot be used. */
function readSchema(inputSchema: unknown): Listed["inputSchema"] | string {
  const checked = checkJson(inputSchema, { maxBytes: mostSchemaBytes, maxDepth: mostSchemaLevels });
  if (!checked.ok) return `its input schema is not valid JSON, or out of bounds (${checked.error})`;
  const schema = checked.value;
  if (schema === null || typeof schema !== "object" || Array.isArray(schema)) return "it has no input schema";
  const object = schema as Listed["inputSchema"];
  if (object.type !== "object") return "its input schema is not that of an object";
  const measure = measureSchema(schema);
  if ("fault" in measure) return `its input schema is out of bounds (${measure.fault})`;
  try {
    new Validator(structuredClone(object) as Schema, "2020-12", false);
  } catch (error) {
    return `its input schema is not a JSON Schema (${error instanceof Error ? error.message : String(error)})`;
  }
  return object;
}

/**
 * A name that every provider accepts. A changed name ends in a part of its hash, so that different names stay
 * different.
 */
function toolNameOf(server: string, name: string): string {
  const plain = `${server}_${name}`;
  const safe = plain.replace(/[^a-zA-Z0-9_-]/g, "_");
  if (safe === plain && safe.length <= longestName) return safe;
  return `${safe.slice(0, longestName - 9)}_${hashOf(name).slice(0, 8)}`;
}

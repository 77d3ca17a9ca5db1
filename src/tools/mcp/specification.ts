/**
 * Reads the tools that an MCP server lists. The list is untrusted, so it is bounded and checked. A tool that cannot be
 * used is left out, and named in `problems`.
 */
import { type Schema, Validator } from "@cfworker/json-schema";
import type { Tool as McpTool } from "@modelcontextprotocol/client";
import { checkJson } from "../../core/data/json.js";
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

export function readListing(server: string, tools: readonly McpTool[], wanted: readonly string[] | undefined): Listing {
  const listed = new Map<string, Listed>();
  const problems: string[] = [];
  const chosen = wanted === undefined ? tools : tools.filter((tool) => wanted.includes(tool.name));
  for (const name of wanted ?? [])
    if (!tools.some((tool) => tool.name === name)) problems.push(`The server has no tool ${JSON.stringify(name)}.`);
  if (chosen.length > mostTools)
    problems.push(
      `The server lists ${chosen.length} tools; only the first ${mostTools} are used. Name the tools that you need.`,
    );
  for (const tool of chosen.slice(0, mostTools)) {
    const read = readTool(server, tool);
    if (typeof read === "string") problems.push(`The tool ${JSON.stringify(tool.name)} is left out: ${read}.`);
    else if (listed.has(read.toolName))
      problems.push(`The tool ${JSON.stringify(tool.name)} is left out: the server lists it twice.`);
    else listed.set(read.toolName, read);
  }
  return { tools: [...listed.values()], problems };
}

/** Returns the tool, or the reason why it cannot be used. */
function readTool(server: string, { name, description = "", inputSchema, annotations = {} }: McpTool): Listed | string {
  const checked = checkJson(inputSchema, { maxBytes: mostSchemaBytes });
  if (!checked.ok) return `its input schema is not valid JSON (${checked.error})`;
  const schema = checked.value as Listed["inputSchema"];
  try {
    new Validator(schema as Schema, "2020-12", false);
  } catch (error) {
    return `its input schema is not a JSON Schema (${error instanceof Error ? error.message : String(error)})`;
  }
  const saysReadOnly = annotations.readOnlyHint === true;
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

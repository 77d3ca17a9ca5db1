/**
 * The tools that an MCP server lists. What it says of them comes from a stranger: bounded, checked, and compared with what
 * was pinned; what cannot be used is left out and named.
 */
import { type Schema, Validator } from "@cfworker/json-schema";
import type { Tool as McpTool } from "@modelcontextprotocol/client";
import { checkJson } from "../../core/data/json.js";
import type { Json } from "../../core/data/message.js";
import { hashOf } from "./options.js";

/** A tool that can be used. */
export type Listed = {
  /** The server's name of it. */
  readonly name: string;
  /** The name that a model is told. */
  readonly toolName: string;
  readonly description: string;
  readonly inputSchema: { readonly [key: string]: Json };
  /** What the server says; it may lie. */
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
    if (!tools.some((tool) => tool.name === name)) problems.push(`There is no tool ${JSON.stringify(name)}.`);
  if (chosen.length > mostTools)
    problems.push(`It lists ${chosen.length} tools; the first ${mostTools} are taken. Name those that you want.`);
  for (const tool of chosen.slice(0, mostTools)) {
    const read = readTool(server, tool);
    if (typeof read === "string") problems.push(`The tool ${JSON.stringify(tool.name)} is left out: ${read}.`);
    else if (listed.has(read.toolName))
      problems.push(`The tool ${JSON.stringify(tool.name)} is left out: it is there twice.`);
    else listed.set(read.toolName, read);
  }
  return { tools: [...listed.values()], problems };
}

/** @returns what is wrong with it, where it cannot be used */
function readTool(server: string, { name, description = "", inputSchema, annotations = {} }: McpTool): Listed | string {
  const checked = checkJson(inputSchema, { maxBytes: mostSchemaBytes });
  if (!checked.ok) return `its input schema is no usable JSON (${checked.error})`;
  const schema = checked.value as Listed["inputSchema"];
  try {
    new Validator(schema as Schema, "2020-12", false);
  } catch (error) {
    return `its input schema is none (${error instanceof Error ? error.message : String(error)})`;
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

/** A name that every provider takes. One that had to be changed ends in a piece of its hash, so that no two become one. */
function toolNameOf(server: string, name: string): string {
  const plain = `${server}_${name}`;
  const safe = plain.replace(/[^a-zA-Z0-9_-]/g, "_");
  if (safe === plain && safe.length <= longestName) return safe;
  return `${safe.slice(0, longestName - 9)}_${hashOf(name).slice(0, 8)}`;
}

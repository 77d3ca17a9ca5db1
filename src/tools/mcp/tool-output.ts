/**
 * Converts the result of an MCP call into a tool's output. Text stays text; images and audio become files.
 */
import { type Schema, Validator } from "@cfworker/json-schema";
import type { CallToolResult } from "@modelcontextprotocol/client";
import { canonicalJson, parseJson } from "../../core/data/json.js";
import type { FilePart, Json, TextPart, ToolOutput } from "../../core/data/message.js";
import { withTimeLimit } from "../../platform/run-bounded.js";

/** A larger result is not stored in a tool step: it becomes the result of the call only. */
export const maxKeptCharacters = 65_536;

type McpContent = CallToolResult["content"][number];

type OutputSchema = { readonly [key: string]: Json };

/**
 * @param schema of the structured content
 * @throws Error with the server's text, if the server marks the result as an error
 */
export function toToolOutput(result: CallToolResult, schema: OutputSchema | null = null): ToolOutput {
  const parts = result.content.map(toPart);
  const texts = parts.filter((part) => part.type === "text");
  const text = texts.map((part) => part.text).join("\n");
  const structured = result.isError === true || schema === null ? undefined : readStructured(result, schema);
  if (structured !== undefined && !isWrapped(text, structured)) return toStructuredOutput(structured, parts);
  if (result.isError === true)
    throw new Error(text === "" ? "The MCP server reported an error without a reason." : text);
  if (parts.length > texts.length) return { type: "content", parts };
  // The SDK has parsed the result from JSON.
  if (parts.length === 0 && result.structuredContent !== undefined)
    return { type: "json", value: result.structuredContent as Json };
  return { type: "text", text: text === "" ? "(no output)" : text };
}

/** Returns the structured content if it fits the server's own schema. */
function readStructured({ structuredContent }: CallToolResult, schema: OutputSchema): Json | undefined {
  if (structuredContent === undefined) return undefined;
  // The MCP library has parsed the result from JSON.
  const value = structuredContent as Json;
  try {
    // The schema is untrusted.
    const fits = withTimeLimit(() => new Validator(structuredClone(schema) as Schema, "2020-12").validate(value).valid);
    return fits ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Many servers wrap the text of a result in an object of one field: `{ "content": "…" }`. The text is easier to read, and shorter. */
function isWrapped(text: string, value: Json): boolean {
  const values = typeof value === "object" && value !== null ? Object.values(value) : [];
  return values.length === 1 && values[0] === text;
}

/** Omits texts that only repeat the structured content. */
function toStructuredOutput(value: Json, parts: readonly (TextPart | FilePart)[]): ToolOutput {
  const written = canonicalJson(value);
  const others = parts.filter((part) => part.type !== "text" || !repeats(part.text, written));
  if (others.length === 0) return { type: "json", value };
  return { type: "content", parts: [{ type: "text", text: JSON.stringify(value) }, ...others] };
}

function repeats(text: string, written: string): boolean {
  const parsed = parseJson(text);
  return parsed.ok && canonicalJson(parsed.value) === written;
}

function toPart(content: McpContent): TextPart | FilePart {
  switch (content.type) {
    case "text":
      return { type: "text", text: content.text };
    case "image":
    case "audio":
      return { type: "file", mediaType: content.mimeType, data: content.data };
    case "resource_link":
      return { type: "text", text: `${content.title ?? content.name}: ${content.uri}` };
    case "resource":
      return toResourcePart(content.resource);
  }
}

function toResourcePart(resource: Extract<McpContent, { type: "resource" }>["resource"]): TextPart | FilePart {
  if ("text" in resource) return { type: "text", text: `${resource.uri}:\n${resource.text}` };
  const mediaType = resource.mimeType ?? "application/octet-stream";
  return { type: "file", mediaType, data: resource.blob, filename: resource.uri };
}

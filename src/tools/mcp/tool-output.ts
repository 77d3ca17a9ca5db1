/**
 * Converts the result of an MCP call into a tool's output. Text stays text; images and audio become files.
 */
import type { CallToolResult } from "@modelcontextprotocol/client";
import type { FilePart, Json, TextPart, ToolOutput } from "../../core/data/message.js";

type McpContent = CallToolResult["content"][number];

/** @throws Error with the server's text, if the server marks the result as an error */
export function toToolOutput(result: CallToolResult): ToolOutput {
  const parts = result.content.map(toPart);
  const texts = parts.filter((part) => part.type === "text");
  const text = texts.map((part) => part.text).join("\n");
  if (result.isError === true)
    throw new Error(text === "" ? "The MCP server reported an error without a reason." : text);
  if (parts.length > texts.length) return { type: "content", parts };
  // The SDK has parsed the result from JSON.
  if (parts.length === 0 && result.structuredContent !== undefined)
    return { type: "json", value: result.structuredContent as Json };
  return { type: "text", text: text === "" ? "(no output)" : text };
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

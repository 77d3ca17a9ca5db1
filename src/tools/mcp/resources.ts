/**
 * The resources of an MCP server: listed and read by the author's program, and by the model if the author says so.
 */
import { showHidden } from "../../core/data/hidden-characters.js";
import type { FilePart, TextPart, ToolOutput } from "../../core/data/message.js";
import type { Tool } from "../../ports/tool.js";
import type { Connection } from "./connection.js";
import type { McpServerOptions } from "./options.js";
import type { McpRequestOptions, McpServer } from "./server.js";

/** A resource of a server, or a template of its addresses (RFC 6570). The texts are a stranger's. */
export type McpResource = {
  /** The address, or its template. */
  readonly uri: string;
  readonly name: string;
  readonly description?: string;
  readonly mediaType?: string;
};

/** What a server has to read. */
export type McpResources = {
  readonly resources: readonly McpResource[];
  readonly templates: readonly McpResource[];
};

/** One content of a resource: a text, or bytes as base64. */
export type McpResourceContent = { readonly uri: string; readonly mediaType?: string } & (
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "data"; readonly data: string }
);

const maxResources = 1_000;
const maxUriCharacters = 2_000;
const maxContents = 64;
const maxContentCharacters = 16 * 1024 * 1024;

/** What a server says. It may have any shape. */
type Untrusted = { readonly [field: string]: unknown };

export function createResources(connection: Connection): Pick<McpServer, "resources" | "read"> {
  return {
    async resources(options) {
      const signal = signalOf(options);
      const [resources, templates] = await Promise.all([
        connection.refreshTools("resources", signal),
        connection.refreshTools("resourceTemplates", signal),
      ]);
      return {
        resources: resources.items.slice(0, maxResources).flatMap((item) => readResource(item, "uri")),
        templates: templates.items.slice(0, maxResources).flatMap((item) => readResource(item, "uriTemplate")),
      };
    },
    read: (uri, options) => readContents(connection, uri, signalOf(options)),
  };
}

/** The request itself has a time limit. */
function signalOf({ signal }: McpRequestOptions = {}): AbortSignal {
  return signal ?? new AbortController().signal;
}

/** A resource that cannot be used is left out. */
function readResource(item: unknown, addressName: "uri" | "uriTemplate"): readonly McpResource[] {
  const { [addressName]: uri, name, title, description, mimeType } = Object(item) as Untrusted;
  if (typeof uri !== "string" || uri === "" || uri.length > maxUriCharacters) return [];
  const shownName = [title, name].find((one) => typeof one === "string" && one !== "") ?? uri;
  return [
    {
      uri,
      name: showHidden(String(shownName)).slice(0, 200),
      ...(typeof description === "string" ? { description: showHidden(description).slice(0, 2_000) } : {}),
      ...(typeof mimeType === "string" ? { mediaType: mimeType.slice(0, 200) } : {}),
    },
  ];
}

async function readContents(connection: Connection, uri: string, signal: AbortSignal): Promise<McpResourceContent[]> {
  const { contents } = Object(await connection.request("resources/read", { uri }, signal)) as Untrusted;
  if (!Array.isArray(contents))
    throw new Error(`The MCP server gave no contents of ${JSON.stringify(uri.slice(0, 200))}.`);
  let room = maxContentCharacters;
  return contents.slice(0, maxContents).flatMap((content): McpResourceContent[] => {
    const { uri: own, mimeType, text, blob } = Object(content) as Untrusted;
    const body = typeof text === "string" ? text : blob;
    if (typeof body !== "string" || body.length > room) return [];
    room -= body.length;
    const about = {
      uri: typeof own === "string" ? own.slice(0, maxUriCharacters) : uri,
      ...(typeof mimeType === "string" ? { mediaType: mimeType.slice(0, 200) } : {}),
    };
    return [typeof text === "string" ? { ...about, type: "text", text } : { ...about, type: "data", data: body }];
  });
}

/** The tool by which the model reads resources. */
export function resourceTool({ name, trust = "ask", defer }: McpServerOptions, connection: Connection): Tool {
  return {
    name: `${name}_read_resource`,
    description: `Reads a resource of the MCP server "${name}" by its address, for example one that a tool of the server has named.`,
    input: {
      type: "object",
      properties: { uri: { type: "string", maxLength: maxUriCharacters } },
      required: ["uri"],
      additionalProperties: false,
    },
    readOnly: trust !== "ask",
    needsApproval: trust === "ask",
    ...(defer === undefined ? {} : { defer }),
    async execute(input, { signal }): Promise<ToolOutput> {
      const { uri } = input as { readonly uri: string };
      const contents = await readContents(connection, uri, signal);
      if (contents.length === 0) return { type: "text", text: "(the resource is empty)" };
      return { type: "content", parts: contents.map(partOf) };
    },
  };
}

function partOf(content: McpResourceContent): TextPart | FilePart {
  if (content.type === "text") return { type: "text", text: `${content.uri}:\n${content.text}` };
  const mediaType = content.mediaType ?? "application/octet-stream";
  return { type: "file", mediaType, data: content.data, filename: content.uri };
}

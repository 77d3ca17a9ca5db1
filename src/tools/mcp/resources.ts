/**
 * The resources of an MCP server. The author's program lists and reads them, and the model can if the author allows it.
 */
import { showHidden } from "../../core/data/hidden-characters.js";
import type { FilePart, TextPart, ToolOutput } from "../../core/data/message.js";
import type { Tool } from "../../ports/tool.js";
import { type Connection, createTraceMeta, type RawList } from "./connection.js";
import { hideLoginPage } from "./login/remote-login.js";
import type { McpRequestOptions, McpServerOptions } from "./options.js";

/** A resource of a server, or a template of resource addresses (RFC 6570). The texts are untrusted. */
export type McpResource = {
  /** The address, or the template. */
  readonly uri: string;
  readonly name: string;
  /** What the server says about it. Untrusted text. */
  readonly description?: string;
  readonly mediaType?: string;
};

/** The resources of a server. */
export type McpResources = {
  /** The resources that the server lists. */
  readonly resources: readonly McpResource[];
  /** The templates of addresses. */
  readonly templates: readonly McpResource[];
};

/** A content of a resource: text, or bytes in base64. */
export type McpResourceContent = {
  /** The address. */
  readonly uri: string;
  /** The media type, if the server names one. */
  readonly mediaType?: string;
} & (
  | {
      /** Text. */
      readonly type: "text";
      /** The text. Untrusted. */
      readonly text: string;
    }
  | {
      /** Bytes. */
      readonly type: "data";
      /** The bytes in base64. */
      readonly data: string;
    }
);

const maxResources = 1_000;
const maxUriCharacters = 2_000;
const maxContents = 64;
const maxContentCharacters = 16 * 1024 * 1024;

/** Unchecked data of a server. */
type Untrusted = { readonly [field: string]: unknown };

type Resources = {
  readonly resources: (options?: McpRequestOptions) => Promise<McpResources>;
  readonly read: (uri: string, options?: McpRequestOptions) => Promise<readonly McpResourceContent[]>;
};

export function createResources(connection: Connection): Resources {
  return {
    async resources(options) {
      const signal = getSignal(options);
      const [resources, templates] = await Promise.all([
        connection.list("resources", signal),
        connection.list("resourceTemplates", signal).catch(ignoreMissingMethod),
      ]);
      return {
        resources: resources.items.slice(0, maxResources).flatMap((item) => readResource(item, "uri")),
        templates: templates.items.slice(0, maxResources).flatMap((item) => readResource(item, "uriTemplate")),
      };
    },
    read: (uri, options) => readContents(connection, uri, getSignal(options)),
  };
}

/** A server may have resources without templates. */
function ignoreMissingMethod(error: unknown): Pick<RawList, "items"> {
  if ((Object(error) as { readonly code?: unknown }).code === -32_601) return { items: [] };
  throw error;
}

/** Without a signal, the time limit of the request ends the wait. */
function getSignal({ signal }: McpRequestOptions = {}): AbortSignal {
  return signal ?? new AbortController().signal;
}

/** A resource without a valid address is omitted. */
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

/** @param traceMeta further parameters of the request */
async function readContents(
  connection: Connection,
  uri: string,
  signal: AbortSignal,
  traceMeta: object = {},
): Promise<McpResourceContent[]> {
  const { contents } = Object(await connection.request("resources/read", { uri, ...traceMeta }, signal)) as Untrusted;
  if (!Array.isArray(contents))
    throw new Error(`The MCP server sent no contents for ${JSON.stringify(uri.slice(0, 200))}.`);
  let remaining = maxContentCharacters;
  return contents.slice(0, maxContents).flatMap((content): McpResourceContent[] => {
    const { uri: contentUri, mimeType, text, blob } = Object(content) as Untrusted;
    const body = typeof text === "string" ? text : blob;
    if (typeof body !== "string" || body.length > remaining) return [];
    remaining -= body.length;
    const about = {
      uri: typeof contentUri === "string" ? contentUri.slice(0, maxUriCharacters) : uri,
      ...(typeof mimeType === "string" ? { mediaType: mimeType.slice(0, 200) } : {}),
    };
    return [typeof text === "string" ? { ...about, type: "text", text } : { ...about, type: "data", data: body }];
  });
}

/** Creates the tool with which the model reads resources. */
export function createReadTool(options: McpServerOptions, connection: Connection): Tool {
  const { name, trust = "ask", defer } = options;
  return {
    name: `${name}_read_resource`,
    description: `Reads a resource of the MCP server "${name}", given its address: for example one that a tool of the server has returned.`,
    input: {
      type: "object",
      properties: { uri: { type: "string", maxLength: maxUriCharacters } },
      required: ["uri"],
      additionalProperties: false,
    },
    readOnly: trust !== "ask",
    needsApproval: trust === "ask",
    ...(defer === undefined ? {} : { defer }),
    async execute(input, context): Promise<ToolOutput> {
      const { uri } = input as { readonly uri: string };
      const contents = await readContents(connection, uri, context.signal, createTraceMeta(options, context)).catch(
        (error: unknown) => {
          throw hideLoginPage(error, name);
        },
      );
      if (contents.length === 0) return { type: "text", text: "(the resource is empty)" };
      return { type: "content", parts: contents.map(toPart) };
    },
  };
}

function toPart(content: McpResourceContent): TextPart | FilePart {
  if (content.type === "text") return { type: "text", text: `${content.uri}:\n${content.text}` };
  const mediaType = content.mediaType ?? "application/octet-stream";
  return { type: "file", mediaType, data: content.data, filename: content.uri };
}

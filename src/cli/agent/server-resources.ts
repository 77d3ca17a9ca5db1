/**
 * The resources of MCP servers that a message mentions as `@server:uri`. Their content is untrusted: it is attached as quoted
 * data, and its size is bounded.
 */
import { getErrorMessage } from "../../core/data/error-message.js";
import { PawlError, type UserPart } from "../../index.js";
import type { McpResourceContent, McpServer } from "../../tools/mcp/index.js";
import { formatNumber } from "../../view/format-number.js";
import { findServer } from "../mcp/resolve-servers.js";
import type { StartedServer, StartedServers } from "../mcp/start-servers.js";
import { formatCount, sanitizeStrictly, toOneLine, truncate } from "../terminal/text.js";
import { createDataPart, fileMediaTypes, listMentions } from "./attachments.js";

/** The maximum size of a resource's text in a message; characters. A longer one is cut. */
const maxCharacters = 64 * 1024;
/** The maximum size of a picture or a PDF, as for files of the folder; characters of base64. */
const maxBase64Characters = Math.ceil(1_000_000 / 3) * 4;
/** The maximum number of resources that are read for one message. */
const maxResources = 20;
/** The maximum length of a server's error message; columns. */
const maxErrorCharacters = 500;

/** The parts that mentions add to a message, keyed by the mention without its `@`. */
export type MentionedResources = ReadonlyMap<string, readonly UserPart[]>;

type ResourceMention = { readonly mention: string; readonly started: StartedServer; readonly uri: string };

/** The mentions whose first part is the name of a server: `docs:file:///guide.md`. */
export function findResourceMentions(text: string, servers: Pick<StartedServers, "all">): readonly ResourceMention[] {
  return listMentions(text).flatMap((mention) => {
    const [, name = "", uri = ""] = /^([^:]+):(.+)$/.exec(mention) ?? [];
    const started = findServer(name, servers.all);
    return started === undefined ? [] : [{ mention, started, uri }];
  });
}

/** @throws PawlError `bad_input` if a resource cannot be read, or if there are too many */
export async function readMentionedResources(
  mentions: readonly ResourceMention[],
  signal: AbortSignal,
): Promise<MentionedResources> {
  if (mentions.length > maxResources)
    throw new PawlError(
      "bad_input",
      `The message mentions ${mentions.length} resources of MCP servers, but at most ${maxResources} are allowed. Nothing was sent.`,
    );
  const read = mentions.map(async ({ mention, started, uri }) => {
    try {
      const { parts } = await readResource(requireRunning(started), uri, signal);
      return [mention, parts] as const;
    } catch (error) {
      const why = signal.aborted ? signal.reason : error;
      const text = truncate(toOneLine(getErrorMessage(why)), maxErrorCharacters);
      throw new PawlError("bad_input", `@${mention} cannot be read, so nothing was sent: ${text}`, { cause: error });
    }
  });
  return new Map(await Promise.all(read));
}

type ResourceParts = {
  readonly parts: readonly UserPart[];
  /** The size of the attached content, for the person. */
  readonly size: string;
};

/** @throws Error if the server cannot be reached, or refuses */
export async function readResource(server: McpServer, uri: string, signal: AbortSignal): Promise<ResourceParts> {
  const contents = await server.read(uri, { signal });
  const files = contents.flatMap(toFilePart);
  const texts = contents.filter((content) => toFilePart(content).length === 0).map(formatContent);
  const text = sanitizeStrictly(texts.join("\n\n"));
  const isCut = text.length > maxCharacters;
  const title = `The resource ${uri} of the MCP server ${server.name}${isCut ? ", its beginning" : ""}:`;
  const isOnlyFiles = text === "" && files.length > 0;
  const textSize = isCut
    ? `${formatNumber(maxCharacters)} characters of it`
    : formatCount(text.split("\n").length, "line");
  return {
    parts: [...(isOnlyFiles ? [] : [createDataPart(title, text.slice(0, maxCharacters))]), ...files],
    size: [...(isOnlyFiles ? [] : [textSize]), ...(files.length === 0 ? [] : [formatCount(files.length, "file")])].join(
      ", ",
    ),
  };
}

/** A picture or a PDF; empty for other content and for a file that is too large. */
function toFilePart(content: McpResourceContent): readonly UserPart[] {
  const { uri, type, mediaType } = content;
  if (type !== "data" || content.data.length > maxBase64Characters) return [];
  if (mediaType === undefined || !fileMediaTypes.has(mediaType)) return [];
  return [{ type: "file", mediaType, data: content.data, filename: sanitizeStrictly(uri) }];
}

function formatContent(content: McpResourceContent): string {
  if (content.type === "text") return content.text;
  const isTooLarge = content.data.length > maxBase64Characters && fileMediaTypes.has(content.mediaType ?? "");
  return `[${content.uri}: ${content.mediaType ?? "bytes"}, which is ${isTooLarge ? "too large" : "not text"}]`;
}

/** @throws PawlError `bad_input` if the server is not running */
export function requireRunning({ name, server, off }: StartedServer): McpServer {
  if (server !== null) return server;
  const why =
    off === null ? `was not started. To see why: /mcp restart ${name}, or pawl mcp test ${name}` : `is off: ${off}.`;
  throw new PawlError("bad_input", `The MCP server ${name} ${why}`);
}

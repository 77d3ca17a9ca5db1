/**
 * Reads MCP servers from a file, in the format that other programs also read: `.mcp.json` in a folder, and `mcp.json` next to
 * the person's `pawl.config.json`.
 *
 * 1. An invalid server is reported with the reason, and the others still work.
 * 2. Additional keys of other programs are ignored: none of them can allow or start anything here. `sandbox` is a key of Pawl's, and
 *    unknown keys in it are refused.
 * 3. The description of a server shows the names of its variables, never their values.
 */
import { isObject } from "../../core/data/is-object.js";
import { type Json, parseJson } from "../../core/index.js";
import { PawlError } from "../../index.js";
import type { McpTransport } from "../../tools/mcp/index.js";
import { stripComments } from "../configuration/strip-comments.js";
import { readSmallText } from "../files/small-file.js";
import { formatServerSandbox, parseServerSandbox, type ServerSandbox } from "./server-sandbox.js";

export const folderServersName = ".mcp.json";
export const userServersName = "mcp.json";

export type ConfiguredServer = {
  readonly name: string;
  /** The transport as written, with variables not yet expanded. Null if it cannot be used. */
  readonly transport: McpTransport | null;
  /** The sandbox in which it runs; null: none. */
  readonly sandbox: ServerSandbox | null;
  /** Why the server cannot be used, or is off. */
  readonly problem?: string;
};

export type ServersFile = {
  readonly path: string;
  readonly text: string;
  readonly servers: readonly ConfiguredServer[];
};

const maxBytes = 256 * 1024;
const maxServers = 64;

/** Reads the file at a path; null if there is none. @throws PawlError `bad_configuration` if it has no list of servers */
export function readServersFile(path: string): ServersFile | null {
  const text = readSmallText(path, maxBytes, (why) => createFileError(path, why));
  if (text === null) return null;
  return { path, text, servers: parseServers(path, text) };
}

function parseServers(path: string, text: string): readonly ConfiguredServer[] {
  const parsed = parseJson(stripComments(text));
  if (!parsed.ok) throw createFileError(path, `it is not valid JSON (${parsed.error})`);
  const servers = toMembers(toMembers(parsed.value)?.mcpServers);
  if (servers === null)
    throw createFileError(
      path,
      'it has no object "mcpServers", as in { "mcpServers": { "docs": { "command": "…" } } }',
    );
  const all = Object.entries(servers);
  if (all.length > maxServers)
    throw createFileError(path, `it names ${all.length} servers; the maximum is ${maxServers}`);
  return all.map(([name, value]) => parseServer(name, value));
}

type Members = { readonly [key: string]: Json };

function toMembers(value: Json | undefined): Members | null {
  return isObject(value) ? (value as Members) : null;
}

export const isServerName = (name: string) => /^[a-zA-Z0-9_-]{1,32}$/.test(name) && !name.includes("__");

function parseServer(name: string, value: Json): ConfiguredServer {
  const toUnusable = (problem: string): ConfiguredServer => ({ name, transport: null, sandbox: null, problem });
  if (!isServerName(name)) return toUnusable('its name must have 1 to 32 letters, digits, "-" and single "_"');
  const members = toMembers(value);
  if (members === null) return toUnusable("it must be an object with command, or with url");
  const transport = parseTransport(members);
  if (typeof transport === "string") return toUnusable(transport);
  const sandbox = members.sandbox === undefined ? null : parseServerSandbox(members.sandbox);
  if (typeof sandbox === "string") return toUnusable(sandbox);
  if (sandbox !== null && transport.type === "http")
    return toUnusable("sandbox is for programs; a server with a url runs elsewhere");
  const server = { name, transport, sandbox };
  return members.disabled === true ? { ...server, problem: "it is disabled in the file" } : server;
}

/** The types that programs write for streamable HTTP. */
const httpTypes: ReadonlySet<Json> = new Set(["http", "streamable-http", "streamableHttp"]);

/** Returns a string that describes the problem if the transport is invalid. */
function parseTransport(members: Members): McpTransport | string {
  const { type, command, args = [], env = {}, url, headers = {}, cwd } = members;
  if (type === "sse")
    return 'its type is "sse", which MCP has replaced; use "http" with the address of the new endpoint';
  if (command === undefined && url === undefined) return "it needs command (a program) or url (an address)";
  if (command !== undefined && url !== undefined) return "it has command and url; leave one of them out";
  if (url !== undefined) {
    if (type !== undefined && !httpTypes.has(type)) return 'the type of a server with a url is "http"';
    if (typeof url !== "string") return "url must be a string";
    return isStringRecord(headers) ? { type: "http", url, headers } : "headers must be an object of strings";
  }
  if (type !== undefined && type !== "stdio") return 'the type of a server with a command is "stdio"';
  if (typeof command !== "string" || command.trim() === "") return "command must be a string";
  if (!Array.isArray(args) || !args.every((arg) => typeof arg === "string")) return "args must be a list of strings";
  if (!isStringRecord(env)) return "env must be an object of strings";
  if (cwd !== undefined && typeof cwd !== "string") return "cwd must be a string";
  return { type: "stdio", command, args: args as readonly string[], env, ...(cwd === undefined ? {} : { cwd }) };
}

function isStringRecord(value: Json): value is { readonly [key: string]: string } {
  return Object.values(toMembers(value) ?? { no: 0 }).every((one) => typeof one === "string");
}

function createFileError(path: string, why: string): PawlError {
  return new PawlError("bad_configuration", `${path} cannot be used: ${why}. Fix the file, or remove it.`);
}

/** The command or address, with the names of its variables and headers, and its sandbox. The result may contain control characters. */
export function formatServerTarget(transport: McpTransport, sandbox: ServerSandbox | null): string {
  const names = Object.keys((transport.type === "http" ? transport.headers : transport.env) ?? {});
  const sandboxNote = sandbox === null ? "" : ` ${formatServerSandbox(sandbox)}`;
  const variablesNote = `${names.length === 0 ? "" : ` (with ${names.join(", ")})`}${sandboxNote}`;
  if (transport.type === "http") return `${transport.url}${variablesNote}`;
  const { command, args = [], cwd } = transport;
  const words = [command, ...args].map((word) => (/^[\w@%+=:,./${}-]+$/.test(word) ? word : JSON.stringify(word)));
  return `${words.join(" ")}${cwd === undefined ? "" : ` in ${cwd}`}${variablesNote}`;
}

/**
 * Replaces the variables of a server, `${NAME}` or `${NAME:-default}`, with their values.
 * @throws PawlError `bad_configuration` if a variable is not set and has no default
 */
export function expandVariables(
  name: string,
  transport: McpTransport,
  environment: { readonly [variable: string]: string | undefined },
): McpTransport {
  const expand = (text: string) =>
    text.replace(/\$\{([A-Za-z_]\w*)(?::-([^}]*))?\}/g, (_, variable: string, fallback: string | undefined) => {
      const value = environment[variable] ?? fallback;
      if (value !== undefined) return value;
      throw new PawlError(
        "bad_configuration",
        `The MCP server ${name} needs the variable ${variable}, which is not set. Set it: export ${variable}=…`,
      );
    });
  const expandAll = (texts: { readonly [key: string]: string } = {}) =>
    Object.fromEntries(Object.entries(texts).map(([key, text]) => [key, expand(text)]));
  if (transport.type === "http")
    return { type: "http", url: expand(transport.url), headers: expandAll(transport.headers) };
  const { command, args = [], env, cwd } = transport;
  return {
    type: "stdio",
    command: expand(command),
    args: args.map(expand),
    env: expandAll(env),
    ...(cwd === undefined ? {} : { cwd: expand(cwd) }),
  };
}

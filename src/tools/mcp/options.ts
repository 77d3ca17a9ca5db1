/**
 * MCP servers as their user names them, and as they are shown and pinned (SEC-10).
 */
import { createHash } from "node:crypto";
import { canonicalJson } from "../../core/data/json.js";
import { PawlError } from "../../errors.js";

/** How a server is reached. */
export type McpTransport =
  | {
      readonly type: "stdio";
      readonly command: string;
      readonly args?: readonly string[];
      /** Variables beyond HOME, LOGNAME, PATH, SHELL, TERM and USER. Nothing else of this process's environment is handed on. */
      readonly env?: Readonly<Record<string, string>>;
      readonly cwd?: string;
    }
  | {
      readonly type: "http";
      readonly url: string;
      readonly headers?: Readonly<Record<string, string>>;
    };

/**
 * Which calls a person is asked for. `ask`: all. `hints`: those of tools that the server does not call read-only; it may lie.
 * `all`: none. Whatever it is, a tool that is new or changed against its pin is asked for.
 */
export type McpTrust = "ask" | "hints" | "all";

/** What was seen of a server, as SHA-256 hashes: keep it, and hand it in the next time. */
export type McpPins = {
  /** Of the command with its arguments, folder and the names of its variables, or of the address. */
  readonly server: string;
  /** Of each tool's description, input schema and annotations, by the server's name of it. */
  readonly tools: Readonly<Record<string, string>>;
};

export type McpServerOptions = {
  /** Stands before the names of its tools: `files` makes `files_read_file`. Letters, digits, "_" and "-", 32 at most. */
  readonly name: string;
  readonly transport: McpTransport;
  /** Default `ask`. */
  readonly trust?: McpTrust;
  /** What was seen when somebody last looked; what is seen on connecting, unless given. */
  readonly pins?: McpPins;
  /** Only these tools, by the server's names. */
  readonly tools?: readonly string[];
  /** How long the server may be silent in a call, 60 s; progress that it reports counts as a sign of life. */
  readonly timeoutMs?: number;
  /** How long it may take to start and to list its tools; 30 s. */
  readonly connectTimeoutMs?: number;
};

/** @throws PawlError `bad_configuration` */
export function checkMcpOptions({ name, transport, pins }: McpServerOptions): void {
  if (!/^[a-zA-Z0-9_-]{1,32}$/.test(name))
    throw new PawlError(
      "bad_configuration",
      `An MCP server cannot be named ${JSON.stringify(name)}. Use 1 to 32 letters, digits, "_" and "-".`,
    );
  if (transport.type === "http") checkAddress(name, transport.url);
  if (pins !== undefined && pins.server !== hashServer(transport))
    throw new PawlError(
      "mcp_server_changed",
      `The MCP server "${name}" is not the one that was pinned: it is ${showServer(transport)} now. Look at it, and pin it anew.`,
    );
}

function checkAddress(name: string, url: string): void {
  const protocol = URL.canParse(url) ? new URL(url).protocol : "";
  if (protocol !== "http:" && protocol !== "https:")
    throw new PawlError(
      "bad_configuration",
      `The MCP server "${name}" has the address ${JSON.stringify(url)}. Use one that begins with http:// or https://.`,
    );
}

/** The whole command or address, with nothing in it left unseen. Values of the environment and of headers are left out: they are secrets. */
export function showServer(transport: McpTransport): string {
  if (transport.type === "http") return visible(transport.url);
  const { command, args = [], env = {}, cwd } = transport;
  const words = [command, ...args].map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : JSON.stringify(word)));
  const names = Object.keys(env);
  const within = cwd === undefined ? "" : ` in ${JSON.stringify(cwd)}`;
  return visible(`${words.join(" ")}${within}${names.length === 0 ? "" : ` with ${names.join(", ")}`}`);
}

function visible(text: string): string {
  return text.replace(
    /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu,
    (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`,
  );
}

export function hashServer(transport: McpTransport): string {
  if (transport.type === "http") return hashOf({ url: transport.url });
  const { command, args = [], env = {}, cwd = null } = transport;
  return hashOf({ command, args, cwd, env: Object.keys(env) });
}

export function hashOf(value: Parameters<typeof canonicalJson>[0]): string {
  return createHash("sha256").update(canonicalJson(value)).digest("hex");
}

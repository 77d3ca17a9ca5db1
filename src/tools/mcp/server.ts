/**
 * One MCP server and its tools, as a stranger's: the whole command is shown and pinned, calls are asked for unless the user says that the
 * server is trusted, and a tool that changes is asked for again (SEC-10).
 */
import type { Tool } from "../../ports/tool.js";
import { type Connection, createConnection } from "./connection.js";
import { checkMcpOptions, hashServer, type McpPins, type McpServerOptions, showServer } from "./options.js";
import { outputOf } from "./result.js";
import { type Listed, readListing } from "./specification.js";

export type McpServer = {
  readonly name: string;
  /** The whole command or address, control characters made visible. */
  readonly command: string;
  /** The tools that it listed first; those that it adds later are left out. */
  readonly tools: readonly Tool[];
  /** What is seen of it now. Once somebody has looked at it, keep this and hand it in as `pins` the next time. */
  readonly pins: () => McpPins;
  /** The tools, by the server's names, that are new or changed against the pins: calls of them are asked for. */
  readonly changed: () => readonly string[];
  /** What was left out, and why. */
  readonly problems: readonly string[];
  /** Ends the connection, and a server that was started for it. */
  readonly close: () => Promise<void>;
};

/**
 * Connects to an MCP server, and makes its tools usable for an agent.
 *
 * Calls that fail, and a server that ends in the middle of one, give error results; the next call starts the server again.
 *
 * @throws PawlError `bad_configuration`, `missing_package`, or `mcp_server_changed` where it is not the one that was pinned
 * @throws Error where it cannot be reached
 */
export async function connectMcpServer(options: McpServerOptions): Promise<McpServer> {
  checkMcpOptions(options);
  let seen: readonly Listed[] = [];
  let problems: readonly string[] = [];
  const connection = createConnection(options, (tools) => {
    ({ tools: seen, problems } = readListing(options.name, tools, options.tools));
  });
  await connection.open();
  const pinned = options.pins?.tools ?? hashesOf(seen);
  const isChanged = ({ name }: Listed) => seen.find((one) => one.name === name)?.hash !== pinned[name];
  return {
    name: options.name,
    command: showServer(options.transport),
    tools: seen.map((one) => toolOf(one, options, connection, isChanged)),
    pins: () => ({ server: hashServer(options.transport), tools: hashesOf(seen) }),
    changed: () => seen.filter((one) => one.hash !== pinned[one.name]).map((one) => one.name),
    problems,
    close: connection.close,
  };
}

function hashesOf(tools: readonly Listed[]): McpPins["tools"] {
  return Object.fromEntries(tools.map(({ name, hash }) => [name, hash]));
}

function toolOf(
  listed: Listed,
  { trust = "ask" }: McpServerOptions,
  connection: Connection,
  isChanged: (listed: Listed) => boolean,
): Tool {
  const { name, toolName, description, inputSchema, saysReadOnly } = listed;
  const isAskedFor = trust === "ask" || (trust === "hints" && !saysReadOnly);
  return {
    name: toolName,
    description,
    input: inputSchema,
    readOnly: trust === "hints" && saysReadOnly,
    needsApproval: () => isAskedFor || isChanged(listed),
    execute: async (input, context) => outputOf(await connection.call(name, input, context)),
  };
}

/**
 * An MCP server and its tools. The server is untrusted: its whole command is shown and pinned, its calls need approval
 * unless the user trusts the server, and a changed tool needs approval again (SEC-10).
 */
import type { Tool as McpTool } from "@modelcontextprotocol/client";
import type { ToolOutput } from "../../core/data/message.js";
import type { Tool, ToolContext } from "../../ports/tool.js";
import { callInRounds, type Send } from "./call-in-rounds.js";
import { type Connection, createConnection } from "./connection.js";
import { checkMcpOptions, formatServer, hashServer, type McpPins, type McpServerOptions } from "./options.js";
import { type ListedTool, parseListing } from "./tool-list.js";
import { toToolOutput } from "./tool-output.js";

/** A connected server. */
export type McpServer = {
  /** The name of the server, with which the names of its tools begin. */
  readonly name: string;
  /** The whole command or address, with control characters made visible. */
  readonly command: string;
  /** The tools that the server listed at the connection. Tools that it adds later are left out. */
  readonly tools: readonly Tool[];
  /** The server's own names of these tools, by the names that the model is given. */
  readonly ownNames: Readonly<Record<string, string>>;
  /**
   * The current pins. Once a person has checked the server, store them, and pass them as `pins` at the next connection.
   */
  readonly pins: () => McpPins;
  /** The server's names of the tools that are new or differ from the pins. Calls of them need approval. */
  readonly changed: () => readonly string[];
  /** The tools that were left out, each with the reason. */
  readonly problems: readonly string[];
  /** Closes the connection, and ends the server if it was started for the connection. */
  readonly close: () => Promise<void>;
};

/**
 * Connects to an MCP server, and returns its tools for an agent.
 *
 * If a call fails, or the server ends during a call, the call has an error result. The next call starts the server
 * again.
 *
 * @throws PawlError `bad_configuration`, `missing_package`, or `mcp_server_changed` if it is not the pinned server
 * @throws Error if the server cannot be reached
 *
 * @example
 * ```ts
 * import { connectMcpServer } from "pawl/tools/mcp";
 *
 * const server = await connectMcpServer({
 *   name: "files",
 *   transport: { type: "stdio", command: "npx", args: ["@modelcontextprotocol/server-filesystem", "/srv/site"] },
 * });
 * const agent = createAgent({ model, tools: [...server.tools] });
 * // …
 * await server.close();
 * ```
 */
export async function connectMcpServer(options: McpServerOptions): Promise<McpServer> {
  checkMcpOptions(options);
  let listedTools: readonly ListedTool[] = [];
  let problems: readonly string[] = [];
  const connection = createConnection(
    options,
    (tools) => {
      ({ tools: listedTools, problems } = parseListing(options.name, tools, options.tools));
    },
    (name) => toSdkTool(listedTools.find((tool) => tool.name === name)),
  );
  await connection.open();
  const pinnedHashes = options.pins?.tools ?? collectHashes(listedTools);
  const isChanged = ({ name }: ListedTool) =>
    listedTools.find((tool) => tool.name === name)?.hash !== pinnedHashes[name];
  return {
    name: options.name,
    command: formatServer(options.transport),
    tools: listedTools.map((tool) => createTool(tool, options, connection, isChanged)),
    ownNames: Object.freeze(Object.fromEntries(listedTools.map(({ toolName, name }) => [toolName, name]))),
    pins: () => ({ server: hashServer(options.transport), tools: collectHashes(listedTools) }),
    changed: () => listedTools.filter((tool) => tool.hash !== pinnedHashes[tool.name]).map((tool) => tool.name),
    problems,
    close: connection.close,
  };
}

/** What the MCP library needs of a tool to call it. */
function toSdkTool(tool: ListedTool | undefined): McpTool | undefined {
  return tool === undefined ? undefined : { name: tool.name, inputSchema: { ...tool.inputSchema, type: "object" } };
}

function collectHashes(tools: readonly ListedTool[]): McpPins["tools"] {
  return Object.fromEntries(tools.map(({ name, hash }) => [name, hash]));
}

function createTool(
  listed: ListedTool,
  { name: server, trust = "ask", answerTimeoutMs, defer }: McpServerOptions,
  connection: Connection,
  isChanged: (listed: ListedTool) => boolean,
): Tool {
  const { name, toolName, description, inputSchema, saysReadOnly } = listed;
  const alwaysAsks = trust === "ask" || (trust === "hints" && !saysReadOnly);
  const readOnly = trust === "hints" && saysReadOnly;
  return {
    name: toolName,
    description,
    input: inputSchema,
    readOnly,
    needsApproval: () => alwaysAsks || isChanged(listed),
    ...(defer === undefined ? {} : { defer }),
    ...(connection.asksBetweenRequests() ? { durable: true } : {}),
    execute: (input, context) => {
      const send: Send = (continuation, signal) => connection.call({ name, input, continuation, signal, context });
      if (connection.asksBetweenRequests()) return callInRounds({ server, send, readOnly, answerTimeoutMs, context });
      return callOnce(send, context);
    },
  };
}

async function callOnce(send: Send, { signal }: ToolContext): Promise<ToolOutput> {
  const reply = await send({}, signal);
  if (reply.type === "result") return toToolOutput(reply.result);
  throw new Error("The server asks for input in a way that its protocol does not have.");
}

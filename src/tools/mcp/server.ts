/**
 * An MCP server and its tools. The server is untrusted: its whole command is shown and pinned, its calls need approval
 * unless the user trusts the server, and a changed tool needs approval again (SEC-10).
 */
import type { Tool as McpTool } from "@modelcontextprotocol/client";
import type { Json, ToolOutput } from "../../core/data/message.js";
import type { ContextSource } from "../../ports/context.js";
import type { Tool, ToolContext } from "../../ports/tool.js";
import { callInRounds, type Send } from "./call-in-rounds.js";
import { createCompletions, type McpTypedArgument } from "./completions.js";
import { type Connection, createConnection, createTraceMeta } from "./connection.js";
import { createInstructions } from "./instructions.js";
import {
  checkMcpOptions,
  formatPeer,
  formatServer,
  hashServer,
  type McpPins,
  type McpRequestOptions,
  type McpServerOptions,
} from "./options.js";
import { createPrompts, type McpPrompt, type McpPromptText } from "./prompts.js";
import { createReadTool, createResources, type McpResourceContent, type McpResources } from "./resources.js";
import { createTaskMethods } from "./tasks.js";
import { type ListedTool, parseListing } from "./tool-list.js";
import { toToolOutput } from "./tool-output.js";

/** A connected server. */
export type McpServer = {
  /** The name of the server, with which the names of its tools begin. */
  readonly name: string;
  /** The whole command or address, with control characters made visible. */
  readonly command: string;
  /**
   * The tools that the server listed when it was connected, and those that were accepted since. A tool that the server adds later is
   * not included: `waiting` has its name. Tools that the server has removed are not included either. An agent keeps the tools that it
   * was created with.
   */
  readonly tools: readonly Tool[];
  /** The server's own names of these tools, by the names that the model is given. */
  readonly ownNames: Readonly<Record<string, string>>;
  /**
   * The current pins, without those of waiting tools. Once a person has checked the server, store them, and pass them as `pins` at
   * the next connection.
   */
  readonly pins: () => McpPins;
  /** The server's names of the tools that are new or differ from the pins. Calls of them need approval. */
  readonly changed: () => readonly string[];
  /** The server's names of the tools that it has added since it was connected. The model does not see them. */
  readonly waiting: () => readonly string[];
  /** Returns the server's current version of a tool, for review before `accept`; undefined if the server does not list the tool. */
  readonly latest: (name: string) => McpToolVersion | undefined;
  /**
   * Accepts waiting tools and the changes of changed ones, after a person has looked at them. Default: all. Then pass the tools to
   * the agent again: `agent.with({ tools: [...server.tools] })`.
   */
  readonly accept: (names?: readonly string[]) => void;
  /**
   * The server's instructions, for the `context.sources` of an agent. Empty without the option `instructions`, and if they differ
   * from their pin.
   */
  readonly sources: readonly ContextSource[];
  /** Lists the server's resources and resource templates. @throws Error if the server cannot be reached */
  readonly resources: (options?: McpRequestOptions) => Promise<McpResources>;
  /** Reads a resource. @throws Error if the server cannot be reached, or refuses */
  readonly read: (uri: string, options?: McpRequestOptions) => Promise<readonly McpResourceContent[]>;
  /** Lists the server's prompts. @throws Error if the server cannot be reached */
  readonly prompts: (options?: McpRequestOptions) => Promise<readonly McpPrompt[]>;
  /**
   * Returns the text of a prompt. It is untrusted: show it to a person before it is sent in the person's name.
   * @throws Error if the server cannot be reached, or refuses
   */
  readonly prompt: (
    name: string,
    args?: Readonly<Record<string, string>>,
    options?: McpRequestOptions,
  ) => Promise<McpPromptText>;
  /**
   * Returns values that the server suggests for an argument of a prompt or of a resource template, at most 100. They are untrusted. Empty if
   * the server offers no completions.
   * @throws Error if the server cannot be reached, or refuses
   */
  readonly complete: (typed: McpTypedArgument, options?: McpRequestOptions) => Promise<readonly string[]>;
  /** Omitted tools and instructions, each with the reason. */
  readonly problems: readonly string[];
  /** Closes the connection, and ends the server if it was started for the connection. */
  readonly close: () => Promise<void>;
};

/** A tool as the server describes it now. */
export type McpToolVersion = {
  /** The server's name of the tool. */
  readonly name: string;
  /** Its description for the model, which is untrusted. */
  readonly description: string;
  /** The JSON Schema of its input. */
  readonly input: { readonly [key: string]: Json };
};

/**
 * Connects to an MCP server, and returns its tools for an agent.
 *
 * If a call fails, or the server ends during a call, the call has an error result. The next call starts the server
 * again.
 *
 * @throws PawlError `bad_configuration`, `missing_package`, `login_needed`, or `mcp_server_changed` if it is not the pinned server
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
  const listingOptions = {
    server: options.name,
    wantedTools: options.tools,
    overHttp: options.transport.type === "http",
  };
  const connection = createConnection(
    options,
    (tools) => {
      ({ tools: listedTools, problems } = parseListing(tools, listingOptions));
    },
    (name) => toSdkTool(findTool(listedTools, name)),
  );
  await connection.open();
  const pinnedHashes = new Map(Object.entries(options.pins?.tools ?? collectHashes(listedTools)));
  const isChanged = (name: string) => findTool(listedTools, name)?.hash !== pinnedHashes.get(name);
  const offer = (listed: ListedTool) => createTool(listed, options, connection, isChanged);
  const offered = new Map(listedTools.map((listed) => [listed.name, { listed, tool: offer(listed) }]));
  const getPresent = () =>
    [...offered.values()].filter(({ listed }) => findTool(listedTools, listed.name) !== undefined);
  const changed = () => getPresent().flatMap(({ listed: { name } }) => (isChanged(name) ? [name] : []));
  const waiting = () => listedTools.flatMap(({ name }) => (offered.has(name) ? [] : [name]));
  const instructions = createInstructions(connection.instructions(), options);
  const readTool = options.resources === true ? createReadTool(options, connection) : null;
  const allProblems = [...problems, ...instructions.problems];
  return {
    name: options.name,
    command: formatServer(options.transport),
    get tools() {
      const present = getPresent().map(({ tool }) => tool);
      const isNameTaken = present.some(({ name }) => name === readTool?.name);
      return readTool === null || isNameTaken ? present : [...present, readTool];
    },
    get ownNames() {
      return Object.freeze(Object.fromEntries(getPresent().map(({ listed: { toolName, name } }) => [toolName, name])));
    },
    pins() {
      const tools = collectHashes(listedTools.filter(({ name }) => offered.has(name)));
      return { server: hashServer(options.transport), tools, ...instructions.pin };
    },
    changed,
    waiting,
    latest(name) {
      const listed = findTool(listedTools, name);
      if (listed === undefined) return undefined;
      return { name, description: listed.description, input: structuredClone(listed.inputSchema) };
    },
    accept(names = [...waiting(), ...changed()]) {
      for (const name of names) {
        const listed = findTool(listedTools, name);
        if (listed === undefined) continue;
        pinnedHashes.set(name, listed.hash);
        offered.set(name, { listed, tool: offer(listed) });
      }
    },
    sources: instructions.sources,
    ...createResources(connection),
    ...createPrompts(connection),
    ...createCompletions(connection),
    problems: allProblems,
    close: connection.close,
  };
}

function findTool(listedTools: readonly ListedTool[], name: string): ListedTool | undefined {
  return listedTools.find((tool) => tool.name === name);
}

/** The definition of a tool that the MCP library needs in order to call it. */
function toSdkTool(tool: ListedTool | undefined): McpTool | undefined {
  return tool === undefined ? undefined : { name: tool.name, inputSchema: { ...tool.inputSchema, type: "object" } };
}

function collectHashes(tools: readonly ListedTool[]): McpPins["tools"] {
  return Object.fromEntries(tools.map(({ name, hash }) => [name, hash]));
}

function createTool(
  listed: ListedTool,
  options: McpServerOptions,
  connection: Connection,
  isChanged: (name: string) => boolean,
): Tool {
  const { name: server, trust = "ask", answerTimeoutMs, defer } = options;
  const { name, toolName, description, inputSchema, outputSchema, saysReadOnly } = listed;
  const alwaysAsks = trust === "ask" || (trust === "hints" && !saysReadOnly);
  const readOnly = trust === "hints" && saysReadOnly;
  const isDurable = connection.asksBetweenRequests() || asksForLogin(options);
  return {
    name: toolName,
    description,
    input: inputSchema,
    readOnly,
    needsApproval: () => alwaysAsks || isChanged(name),
    ...(defer === undefined ? {} : { defer }),
    ...(isDurable ? { durable: true } : {}),
    execute: (input, context) => {
      const send: Send = (continuation, signal) => connection.call({ name, input, continuation, signal, context });
      if (isDurable) {
        const tasks = createTaskMethods(connection.request, createTraceMeta(options, context));
        return callInRounds({
          peer: formatPeer(server),
          send,
          tasks,
          outputSchema,
          readOnly,
          answerTimeoutMs,
          context,
        });
      }
      return callOnce(send, outputSchema, context);
    },
  };
}

/** Whether a call that needs a login asks a person, who may take days. */
function asksForLogin({ transport }: McpServerOptions): boolean {
  const login = transport.type === "http" ? transport.login : undefined;
  return login?.as === "person" && login.redirectUrl !== undefined;
}

async function callOnce(
  send: Send,
  outputSchema: ListedTool["outputSchema"],
  { signal }: ToolContext,
): Promise<ToolOutput> {
  const reply = await send({}, signal);
  if (reply.type === "result") return toToolOutput(reply.result, outputSchema);
  const what = reply.type === "task" ? "answered with a task, which" : "asks for input in a way that";
  throw new Error(`The server ${what} its protocol does not have.`);
}

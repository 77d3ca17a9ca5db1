/**
 * Starts the MCP servers that are on, and gives their tools to the agent.
 *
 * 1. A server that cannot be started is reported, and the others work.
 * 2. The person's rules decide about each call: what a server claims about its tools allows nothing.
 */

import { resolve } from "node:path";
import { getErrorMessage } from "../../core/data/error-message.js";
import { type AnyTool, createRedaction, estimateTokens, PawlError } from "../../index.js";
import { connectMcpServer, type McpServer, type McpServerOptions, type McpTransport } from "../../tools/mcp/index.js";
import { formatNumber } from "../../view/format-number.js";
import { installCommand } from "../installation.js";
import type { ToolVersion } from "../permissions/rule-test.js";
import type { FindVersion } from "../permissions/tool-version.js";
import { listSecrets } from "../terminal/redaction.js";
import { formatCount } from "../terminal/text.js";
import { canLogIn, storedLogin } from "./logins.js";
import { openServerSandbox } from "./open-server-sandbox.js";
import type { ResolvedServer } from "./resolve-servers.js";
import { expandVariables } from "./servers-file.js";

export type StartedServer = ResolvedServer & {
  /** Null if it is off or could not be started. */
  readonly server: McpServer | null;
  /** Stops it, with its sandbox. */
  readonly close: () => Promise<void>;
  readonly tools: readonly AnyTool[];
  /** Why it could not be started, and which of its tools cannot be used. */
  readonly problems: readonly string[];
  /** The end of its standard error. It may contain control characters. */
  readonly log: () => string;
};

export type StartedServers = {
  readonly all: readonly StartedServer[];
  readonly tools: readonly AnyTool[];
  /** The current version of a tool, by the name that rules have for it. */
  readonly versionOf: FindVersion;
  readonly close: () => Promise<void>;
};

export const noServers: StartedServers = { all: [], tools: [], versionOf: () => undefined, close: async () => {} };

/**
 * @param root the folder in which they run
 * @param signal ends the wait for servers that have not responded yet
 */
export async function startServers(
  servers: readonly ResolvedServer[],
  root: string,
  signal?: AbortSignal,
): Promise<StartedServers> {
  return combineServers(await Promise.all(servers.map((one) => startServer(one, root, signal))));
}

/** Returns the servers with the server of this name restarted. */
export async function restartServer(
  started: StartedServers,
  name: string,
  root: string,
  signal: AbortSignal,
): Promise<StartedServers> {
  const restart = async (one: StartedServer): Promise<StartedServer> => {
    if (one.name !== name) return one;
    await one.close().catch(() => {});
    return await startServer(one, root, signal);
  };
  return combineServers(await Promise.all(started.all.map(restart)));
}

/** Returns the servers with these new or changed tools of one server accepted. */
export function acceptTools(started: StartedServers, name: string, names: readonly string[]): StartedServers {
  const accept = (one: StartedServer): StartedServer => {
    if (one.name !== name || one.server === null) return one;
    one.server.accept(names);
    return { ...one, ...describeTools(one.server) };
  };
  return combineServers(started.all.map(accept));
}

function combineServers(all: readonly StartedServer[]): StartedServers {
  return {
    all,
    tools: all.flatMap(({ tools }) => tools),
    versionOf: (tool) => all.map(({ server }) => findVersion(server, tool)).find((found) => found !== undefined),
    close: async () => void (await Promise.allSettled(all.map((one) => one.close()))),
  };
}

/**
 * Notes for a person about servers with problems or large tools. They may contain control characters.
 *
 * @param retry the command that starts a server again
 */
export function formatServerNotes({ all }: StartedServers, retry = "pawl mcp test"): readonly string[] {
  return all.flatMap(({ name, path, server, off, problems, tools }) => [
    ...problems.map((problem) => `MCP server ${name}: ${problem}`),
    ...(server === null && off === null ? [`  It is configured in ${path}. To try it again: ${retry} ${name}`] : []),
    ...formatCostNotes(name, path, tools),
  ]);
}

/** From this many tokens of a server's tools, the person gets a note. The built-in tools take less together. */
const noteworthyTokens = 4_000;

/** Requests contain the descriptions and the schemas of all tools that are not deferred. */
function formatCostNotes(name: string, path: string, tools: readonly AnyTool[]): readonly string[] {
  const specifications = tools.map((tool) => ({ name: tool.name, description: tool.description, input: tool.input }));
  const tokens = estimateTokens(JSON.stringify(specifications));
  if (tokens < noteworthyTokens) return [];
  const figure = formatNumber(tokens);
  return [
    `MCP server ${name}: its ${formatCount(tools.length, "tool")} take about ${figure} tokens.`,
    `  It is configured in ${path}. Every request contains them, unless all servers take more than a tenth of the model's context window: then the model searches for them.`,
  ];
}

/** Characters of a server's standard error that are kept. */
const maxLog = 64 * 1024;

async function startServer(one: ResolvedServer, root: string, signal?: AbortSignal): Promise<StartedServer> {
  const { name, transport, sandbox, off } = one;
  let stderrText = "";
  const log = () => (transport === null ? "" : redactServerText(trimToWholeLines(stderrText), name, transport));
  const stopped = { ...one, server: null, close: async () => {}, tools: [], log };
  if (off !== null || transport === null) return { ...stopped, problems: [] };
  try {
    const { server, close } = await connectServer({ name, transport, sandbox }, root, {
      ...(signal === undefined ? {} : { signal }),
      onStderr(text) {
        // One character more shows that something was cut.
        stderrText = `${stderrText}${text}`.slice(-maxLog - 1);
      },
    });
    return { ...one, server, close, log, ...describeTools(server) };
  } catch (error) {
    return { ...stopped, problems: [explainFailure(error, name, transport)] };
  }
}

/** Cuts between two lines: a secret that is cut in two could no longer be recognized and masked. */
function trimToWholeLines(stderrText: string): string {
  return stderrText.length > maxLog ? stderrText.slice(stderrText.indexOf("\n") + 1) : stderrText;
}

/** Explains why a server cannot be used, and what to check. */
export function explainFailure(error: unknown, name: string, transport: McpTransport): string {
  const message = redactServerText(getErrorMessage(error), name, transport);
  const isMissing = transport.type === "stdio" && /\bENOENT\b/.test(message);
  return isMissing ? `${message} Is ${transport.command} installed, and on your PATH?` : message;
}

/** Removes the values of the server's own variables that are named as secrets. */
function redactServerText(text: string, name: string, transport: McpTransport): string {
  if (transport.type === "http") return text;
  try {
    const { env } = expandVariables(name, transport, process.env) as typeof transport;
    return createRedaction({ values: listSecrets(env ?? {}) })(text);
  } catch {
    // The server was not started, because a variable that it needs is not set.
    return text;
  }
}

const packageName = "@modelcontextprotocol/client";

/** @throws PawlError, or Error with what the server said, if it cannot be started or reached */
export async function connectServer(
  { name, transport, sandbox: settings }: Pick<ResolvedServer, "name" | "sandbox"> & { transport: McpTransport },
  root: string,
  more: Pick<McpServerOptions, "onStderr" | "signal"> = {},
): Promise<{ readonly server: McpServer; readonly close: () => Promise<void> }> {
  const expanded = expandVariables(name, transport, process.env);
  const sandbox = settings === null ? undefined : openServerSandbox(name, settings, root);
  const transportInRoot =
    expanded.type === "stdio"
      ? { ...expanded, cwd: resolve(root, expanded.cwd ?? "."), ...(sandbox === undefined ? {} : { sandbox }) }
      : canLogIn(expanded)
        ? { ...expanded, login: storedLogin(name) }
        : expanded;
  try {
    // The permission rules alone decide which calls ask.
    const server = await connectMcpServer({ name, transport: transportInRoot, trust: "all", defer: "auto", ...more });
    return {
      server,
      async close() {
        await server.close();
        await sandbox?.close();
      },
    };
  } catch (error) {
    await sandbox?.close();
    if (!(error instanceof PawlError) || error.code !== "missing_package") throw error;
    const message = `MCP servers need the package ${packageName}. Install it: ${installCommand(packageName)}`;
    throw new PawlError("missing_package", message, { cause: error });
  }
}

/** The name that rules have for a server's tool. */
const toRuleName = (server: string, tool: string) => `mcp__${server}__${tool.slice(server.length + 1)}`;

/** The rule that allows the current version of a tool. */
export function formatVersionRule(server: McpServer, tool: string): string {
  const name = toRuleName(server.name, tool);
  return `${name}@${findVersion(server, name)?.hash}`;
}

function findVersion(server: McpServer | null, tool: string): ToolVersion | undefined {
  if (server === null) return undefined;
  const [, ownName] = Object.entries(server.ownNames).find(([name]) => toRuleName(server.name, name) === tool) ?? [];
  const hashes = server.pins().tools;
  const hash = ownName !== undefined && Object.hasOwn(hashes, ownName) ? hashes[ownName] : undefined;
  if (ownName === undefined || hash === undefined) return undefined;
  return { hash, isChanged: server.changed().includes(ownName) };
}

/** The maximum length of a tool's name that providers accept. */
const maxName = 64;

/** The tools under the names that rules have for them, such as `mcp__docs__search`, and what cannot be used. */
function describeTools({ name, tools, problems: ownProblems }: McpServer): Pick<StartedServer, "tools" | "problems"> {
  const all = tools.map((tool) => ({ ...tool, name: toRuleName(name, tool.name) }));
  const problems = all
    .filter((tool) => tool.name.length > maxName)
    .map((tool) => `${tool.name}: its name is longer than ${maxName} characters`);
  return { tools: all.filter((tool) => tool.name.length <= maxName), problems: [...ownProblems, ...problems] };
}

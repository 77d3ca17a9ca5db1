/**
 * A plugin of MCP servers. They connect in parallel, each with its own trust, and close when the engine shuts down
 * (PLUG-3).
 */
import { aFunction, anArray, checkOptions, nonEmptyString, type OptionTable } from "../../check-options.js";
import { PawlError } from "../../errors.js";
import type { Plugin } from "../../ports/plugin.js";
import type { McpServerOptions } from "./options.js";
import { connectMcpServer, type McpServer } from "./server.js";

/** The MCP servers of a plugin. Its engine's agents get their tools. */
export type McpPluginOptions = {
  /** Each server needs a different name. */
  readonly servers: readonly McpServerOptions[];
  /**
   * Called with each server, in the order of the list, before its tools are registered. Use it to show the server's command and
   * problems, and to store its pins. If it throws, the engine is not created. Default: emits each problem as a process warning
   * (`PAWL_MCP`).
   */
  readonly onConnect?: (server: McpServer) => void | Promise<void>;
  /** The plugin's name. Required if an engine has several plugins of MCP servers. Default: `mcp`. */
  readonly name?: string;
};

const optionRules: OptionTable<McpPluginOptions> = { servers: anArray, onConnect: aFunction, name: nonEmptyString };

/**
 * Creates a plugin that registers the tools of MCP servers. If a server cannot be reached, or differs from its pin, the
 * setup fails and the other servers are closed.
 *
 * @throws PawlError `bad_configuration` if two servers have the same name
 *
 * @example
 * ```ts
 * import { createMcpPlugin } from "pawl/tools/mcp";
 *
 * const plugin = createMcpPlugin({
 *   servers: [{ name: "tickets", transport: { type: "http", url: "https://tickets.example.org/mcp" }, trust: "hints" }],
 *   onConnect: ({ command, problems }) => console.log(command, problems),
 * });
 * const engine = await createEngine({ plugins: [plugin], agents: [{ name: "support", model }] });
 * ```
 */
export function createMcpPlugin(options: McpPluginOptions): Plugin {
  checkOptions("createMcpPlugin()", optionRules, options);
  const { servers, onConnect = warnAboutProblems, name = "mcp" } = options;
  const names = servers.map((server) => server.name);
  const duplicate = names.find((candidate, index) => names.indexOf(candidate) !== index);
  if (duplicate !== undefined)
    throw new PawlError("bad_configuration", `Two MCP servers are named "${duplicate}". Rename one of them.`);
  const connected: McpServer[] = [];

  return {
    name,
    version: "1",
    async setup({ registerTool }) {
      const results = await Promise.allSettled(servers.map(connectMcpServer));
      for (const result of results) if (result.status === "fulfilled") connected.push(result.value);
      for (const result of results) if (result.status === "rejected") throw result.reason;
      for (const server of connected) {
        await onConnect(server);
        for (const tool of server.tools) registerTool(tool);
      }
    },
    async dispose() {
      await Promise.all(connected.splice(0).map((server) => server.close()));
    },
  };
}

function warnAboutProblems({ name, problems }: McpServer): void {
  for (const problem of problems)
    process.emitWarning(`The MCP server "${name}": ${problem}`, { type: "PawlWarning", code: "PAWL_MCP" });
}

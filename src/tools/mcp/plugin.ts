/**
 * MCP servers as a plugin: each with its own trust, connected side by side, closed when the engine shuts down (PLUG-3).
 */
import { PawlError } from "../../errors.js";
import type { Plugin } from "../../ports/plugin.js";
import type { McpServerOptions } from "./options.js";
import { connectMcpServer, type McpServer } from "./server.js";

export type McpPluginOptions = {
  /** Each with a name of its own, its `trust`, its `pins` and which of its tools are taken. */
  readonly servers: readonly McpServerOptions[];
  /**
   * Called with each server, in the order of the list, before its tools are registered: the place to show its command and its
   * problems, and to keep its pins. What it throws refuses the server, and the engine with it.
   */
  readonly onConnect?: (server: McpServer) => void | Promise<void>;
  /** The plugin's name, where there are several; "mcp". */
  readonly name?: string;
};

/**
 * Makes a plugin that registers the tools of MCP servers. Its setup fails where one of them cannot be reached, or is not the one
 * that was pinned; the others are closed then.
 *
 * @throws PawlError `bad_configuration` where two servers have one name
 */
export function createMcpPlugin({ servers, onConnect = () => {}, name = "mcp" }: McpPluginOptions): Plugin {
  const names = servers.map((server) => server.name);
  const twice = names.find((one, index) => names.indexOf(one) !== index);
  if (twice !== undefined)
    throw new PawlError("bad_configuration", `Two MCP servers are named "${twice}". Give one of them another name.`);
  const connected: McpServer[] = [];

  return {
    name,
    version: "1",
    async setup({ registerTool }) {
      const opened = await Promise.allSettled(servers.map(connectMcpServer));
      for (const one of opened) if (one.status === "fulfilled") connected.push(one.value);
      for (const one of opened) if (one.status === "rejected") throw one.reason;
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

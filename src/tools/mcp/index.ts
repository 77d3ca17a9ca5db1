/**
 * `pawl/tools/mcp`: tools from MCP servers, for one agent or, as a plugin, for all agents of an engine.
 */
export type { McpPins, McpProtocol, McpServerOptions, McpTransport, McpTrust } from "./options.js";
export { createMcpPlugin, type McpPluginOptions } from "./plugin.js";
export { connectMcpServer, type McpServer } from "./server.js";

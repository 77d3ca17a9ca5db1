/**
 * Agents as tools of an MCP server.
 */
export type { McpAgent, McpHost } from "./host.js";
export { importMcpSdk, mcpPackage, serveMcp } from "./serve-mcp.js";

/**
 * Agents as tools of an MCP server.
 */
export { importMcpSdk, type McpAgent, type McpHost, mcpPackage, serveMcp } from "./serve-mcp.js";

/**
 * Agents as tools of an MCP server.
 */
export { importMcpSdk, mcpPackage, serveMcp } from "./serve-mcp.js";

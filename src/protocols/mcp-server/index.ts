/**
 * Agents as tools of an MCP server.
 */
export { resumeHere as carryOn } from "../resume-here.js";
export type { CalledSession, McpHost } from "./host.js";
export { createMcpHttp, type McpHttp } from "./http.js";
export { importMcpSdk, mcpPackage, serveMcp } from "./serve-mcp.js";

/**
 * `pawl/tools/mcp`: tools from MCP servers, for one agent or, as a plugin, for all agents of an engine.
 */

export type { McpTypedArgument } from "./completions.js";
export {
  type FinishedMcpLogin,
  type FinishMcpLoginOptions,
  finishMcpLogin,
  logInToMcpServer,
  type McpLogInOptions,
} from "./log-in.js";
export type { McpLogin } from "./login/contract.js";
export { fileCredentials, type McpCredentials, type McpStoredLogin } from "./login/credentials.js";
export type { McpPins, McpProtocol, McpRequestOptions, McpServerOptions, McpTransport, McpTrust } from "./options.js";
export { createMcpPlugin, type McpPluginOptions } from "./plugin.js";
export type { McpPrompt, McpPromptText } from "./prompts.js";
export type { McpResource, McpResourceContent, McpResources } from "./resources.js";
export { connectMcpServer, type McpServer, type McpToolVersion } from "./server.js";

/**
 * The option `mcp`: the tools that the server offers to MCP clients.
 */
import { type Agent, type AnyTool, type CallableAgent, PawlError, readAgentTool } from "../index.js";
import type { McpTool } from "../protocols/mcp-server/host.js";
import { checkOptionNames, createConfigurationError } from "./option-checks.js";

/** What the server offers to MCP clients. */
export type McpOptions = {
  /**
   * The tools: agents of this server, each made by `agent.asTool({ name, description, input, request })`. A call starts a run with
   * the request. Several tools may call the same agent. Agents without a tool in the list are not offered. The options `output`,
   * `params`, `budgetShare` and `background` of a tool are for parents only, and do not apply.
   */
  readonly tools: readonly AnyTool[];
};

const optionNames: ReadonlySet<string> = new Set(["tools"]);

/** @throws PawlError `bad_configuration` */
export function resolveMcp(options: McpOptions, agents: readonly Agent[]): readonly McpTool[] {
  checkOptionNames("mcp", options, optionNames);
  if (!Array.isArray(options.tools)) throw createConfigurationError("mcp.tools must be an array of tools.");
  const agentNames = new Set(agents.map((agent) => agent.options.name));
  const offered = new Map<string, McpTool>();
  for (const tool of options.tools as readonly AnyTool[]) {
    const { name, description } = tool;
    const { agent, ...input } = readTool(tool);
    if (!agentNames.has(agent))
      throw createConfigurationError(
        `The tool "${name}" of mcp.tools calls the agent "${agent}", which is not among the server's agents.`,
      );
    if (tool.needsApproval !== undefined)
      throw createConfigurationError(
        `The tool "${name}" of mcp.tools has needsApproval, which is for the calls of a parent agent. Put the approval on the tools of the agent "${agent}".`,
      );
    if (offered.has(name)) throw createConfigurationError(`Two tools of mcp.tools are named "${name}".`);
    offered.set(name, { name, description, agent, input });
  }
  return [...offered.values()];
}

function readTool(tool: AnyTool): CallableAgent {
  try {
    const callable = typeof tool === "object" && tool !== null ? readAgentTool(tool) : null;
    if (callable !== null) return callable;
  } catch (cause) {
    if (!(cause instanceof PawlError)) throw cause;
    throw createConfigurationError(`The tool "${tool.name}" of mcp.tools cannot be offered: ${cause.message}`);
  }
  throw createConfigurationError("Each of mcp.tools must be an agent of this server as a tool: agent.asTool({ … }).");
}

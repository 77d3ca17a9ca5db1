/**
 * Reads the agent of a tool that `agent.asTool()` has created, for programs that offer the agent to others: an MCP server, for example.
 */
import type { Json } from "../../core/data/message.js";
import { PawlError } from "../../errors.js";
import type { JsonSchema } from "../../ports/model.js";
import type { AnyTool } from "../../ports/tool.js";
import { compileInput } from "../tools/schema.js";
import { findAgentOfTool } from "./agent-tool.js";

/** The agent that a tool calls, and how its request is created. */
export type CallableAgent = {
  /** The agent's name. */
  readonly agent: string;
  /** The JSON Schema of the tool's input. */
  readonly inputSchema: JsonSchema;
  /**
   * Creates the agent's request from an input.
   * @throws PawlError `bad_input` if the input does not match the schema
   */
  readonly createRequest: (input: Json) => Promise<string>;
};

/**
 * Returns the agent that a tool calls; null for a tool that `agent.asTool()` has not created.
 *
 * @throws PawlError `bad_configuration` if the tool's input schema cannot be used
 */
export function readAgentTool(tool: AnyTool): CallableAgent | null {
  const found = findAgentOfTool(tool);
  if (found === undefined) return null;
  const { jsonSchema, validate } = compileInput(tool.input);
  return {
    agent: found.agentName,
    inputSchema: structuredClone(jsonSchema),
    async createRequest(input) {
      const checked = await validate(input);
      if (checked.ok) return found.request(checked.value);
      const problems = checked.issues.map(({ path, message }) => (path === "" ? message : `${path}: ${message}`));
      throw new PawlError(
        "bad_input",
        `The input of ${tool.name} does not match its schema:\n- ${problems.join("\n- ")}`,
      );
    },
  };
}

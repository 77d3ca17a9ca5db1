/**
 * Shapes the results of tools that a provider defines and that Pawl runs.
 *
 * Some providers accept the result of their own tool in one shape only. A result that is text (a refusal, an error, a
 * truncated output) is converted to that shape. Otherwise the provider would refuse the request, and with it every
 * later request of the session.
 */
import type { Json, ToolResultPart } from "../../core/data/message.js";
import { textOfOutput } from "../../core/transcript/results.js";
import type { PromptTool, ProviderTool } from "./call-options.js";

/** The provider's id of a tool, by its name. */
export type ToolIds = ReadonlyMap<string, string>;

type ResultShape = (text: string, failed: boolean) => Json;

/** By tool id: converts text to a result of the tool. From the reference of OpenAI's Responses API. */
const resultShapes: ReadonlyMap<string, ResultShape> = new Map<string, ResultShape>([
  [
    "openai.shell",
    (text, failed) => ({
      output: [
        failed
          ? { stdout: "", stderr: text, outcome: { type: "exit", exitCode: 1 } }
          : { stdout: text, stderr: "", outcome: { type: "exit", exitCode: 0 } },
      ],
    }),
  ],
  ["openai.local_shell", (text) => ({ output: text })],
  ["openai.apply_patch", (text, failed) => ({ status: failed ? "failed" : "completed", output: text })],
]);

export function mapToolIds(tools: readonly (PromptTool | ProviderTool)[]): ToolIds {
  return new Map(tools.flatMap((tool) => (tool.type === "provider" ? [[tool.name, tool.id]] : [])));
}

export function isSameMap(a: ToolIds, b: ToolIds): boolean {
  return a.size === b.size && [...a].every(([key, value]) => b.get(key) === value);
}

/** Shapes a result as the provider accepts it. A JSON result of a successful call already has this shape. */
export function shapeResult(part: ToolResultPart, ids: ToolIds): ToolResultPart {
  const id = ids.size === 0 || part.providerExecuted === true ? undefined : ids.get(part.name);
  const shape = id === undefined ? undefined : resultShapes.get(id);
  const failed = part.isError === true;
  if (shape === undefined || (part.output.type === "json" && !failed)) return part;
  const { isError: _, ...rest } = part;
  return { ...rest, output: { type: "json", value: shape(textOfOutput(part.output), failed) } };
}

/**
 * A tool's output on its way into the log, wherever it comes from: the tool, a person, a child, the world outside.
 */
import { assertStorable } from "../../context/tool-output.js";
import type { ToolOutput } from "../../core/data/message.js";
import type { Services } from "../../ports/services.js";
import type { CompiledAgent } from "../agent/compiled-agent.js";
import { andThen } from "../lib/maybe-promise.js";

/**
 * Cuts what is too long for the model; the whole goes to the store, and so only after the hooks have seen it.
 * @throws PawlError `not_storable` for what is too large to be kept in the log
 */
export function capOutput(
  output: ToolOutput,
  toolName: string,
  sessionId: string,
  { services, tools }: Pick<CompiledAgent, "services" | "tools">,
): ToolOutput | Promise<ToolOutput> {
  const maxBytes = tools.get(toolName)?.tool.maxOutputBytes;
  const limit = maxBytes === undefined ? { sessionId } : { sessionId, maxBytes };
  return andThen(services.output === null ? output : services.output.cap(output, limit), assertStorable);
}

/** What a child's model said is bounded already: a service that fails leaves it as it is. */
export async function capOrWhole(
  output: ToolOutput,
  sessionId: string,
  { output: service }: Pick<Services, "output">,
): Promise<ToolOutput> {
  if (service === null) return output;
  try {
    return await service.cap(output, { sessionId });
  } catch {
    return output;
  }
}

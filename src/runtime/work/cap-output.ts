/**
 * A tool's output on its way into the log, whether it comes from the tool, a person, a child or the world outside.
 */
import { assertStorable } from "../../context/tool-output.js";
import type { ToolOutput } from "../../core/data/message.js";
import type { Services } from "../../ports/services.js";
import type { CompiledAgent } from "../agent/compiled-agent.js";
import type { MaybePromise } from "../lib/coroutine.js";

/**
 * Cuts an output that is too long for the model. The whole goes to the store, so hooks must have seen it before.
 * @throws PawlError `not_storable` for an output that is too large for the log
 */
export function capOutput(
  output: ToolOutput,
  toolName: string,
  sessionId: string,
  { services, tools }: Pick<CompiledAgent, "services" | "tools">,
): MaybePromise<ToolOutput> {
  const maxBytes = tools.get(toolName)?.tool.maxOutputBytes;
  const limit = maxBytes === undefined ? { sessionId } : { sessionId, maxBytes };
  const capped = services.output === null ? output : services.output.cap(output, limit);
  return capped instanceof Promise ? capped.then(assertStorable) : assertStorable(capped);
}

/** The same for a child's answer, which is bounded already: if the service fails, the answer goes on whole. */
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

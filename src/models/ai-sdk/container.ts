/**
 * Anthropic runs code in a container, and names the container at the end of its answer. Later requests must name it as
 * well: while the code waits for the result of a call, Anthropic refuses a request without it.
 */
import { isObject } from "../../core/data/is-object.js";
import type { Message, ProviderMetadata } from "../../core/data/message.js";
import type { PromptTool, ProviderTool } from "./call-options.js";

/**
 * Adds the container of the last answer to the options, if a tool runs code there. A container that the caller names takes
 * precedence.
 *
 * @param now epoch milliseconds, to skip a container that has expired
 */
export function addContainer(
  options: ProviderMetadata,
  messages: readonly Message[],
  tools: readonly (PromptTool | ProviderTool)[],
  now: number = Date.now(),
): ProviderMetadata {
  if (!tools.some((tool) => tool.type === "provider" && tool.id.startsWith("anthropic.code_execution"))) return options;
  const id = findLastContainer(messages, now);
  if (id === undefined) return options;
  const ownContainer = options.anthropic?.container;
  return {
    ...options,
    anthropic: { ...options.anthropic, container: { id, ...(isObject(ownContainer) ? ownContainer : {}) } },
  };
}

function findLastContainer(messages: readonly Message[], now: number): string | undefined {
  for (const message of messages.toReversed()) {
    const container = message.role === "assistant" ? message.providerMetadata?.anthropic?.container : undefined;
    if (!isObject(container) || typeof container.id !== "string") continue;
    const { id, expiresAt } = container;
    return typeof expiresAt === "string" && Date.parse(expiresAt) <= now ? undefined : id;
  }
  return undefined;
}

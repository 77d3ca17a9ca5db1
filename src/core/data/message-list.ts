/**
 * Checks that messages form a conversation that every provider accepts.
 *
 * 1. The list is not empty, and its last message is from the user or a tool. If a provider paused within its turn, the last message is the
 *    one to be continued.
 * 2. Each call is answered by the next message, once and in the order of the calls. Call ids are unique.
 * 3. The result of a call that a provider ran itself comes after the call.
 */
import { type AssistantMessage, type Message, type ToolMessage, toolCallsOf } from "./message.js";

/** Where a list is invalid: the index of the message, and the reason, which begins in lower case and has no full stop. */
export type ListFault = { readonly index: number; readonly reason: string };

/**
 * The first fault of a list; undefined if it is valid. The messages themselves must already be valid.
 * @param pausedMessage the message at which a provider paused; the list may end with it
 */
export function findListFault(messages: readonly Message[], pausedMessage?: Message): ListFault | undefined {
  const last = messages.at(-1);
  if (last === undefined) return { index: 0, reason: "it has no messages" };
  const ids = new Set<string>();
  for (const [index, message] of messages.entries()) {
    const reason = findMessageFault(message, messages[index - 1], messages[index + 1], ids);
    if (reason !== undefined) return { index, reason };
  }
  const hasValidEnd = pausedMessage === undefined ? last.role !== "assistant" : last === pausedMessage;
  if (hasValidEnd) return undefined;
  const reason =
    pausedMessage === undefined
      ? "the last message must be a user's or a tool's"
      : "the provider paused, so the last message must stay the last one";
  return { index: messages.length - 1, reason };
}

function findMessageFault(
  message: Message,
  previous: Message | undefined,
  next: Message | undefined,
  ids: Set<string>,
): string | undefined {
  switch (message.role) {
    case "user":
      return undefined;
    case "tool":
      return previous?.role === "assistant" && toolCallsOf(previous).length > 0
        ? undefined
        : "it has results, but the message before it has no calls";
    case "assistant":
      return checkCallIds(message, ids) ?? checkResults(message, next);
  }
}

/** Adds the call ids of the message to `ids`, which holds those of the messages before it. */
function checkCallIds({ parts }: AssistantMessage, ids: Set<string>): string | undefined {
  for (const part of parts) {
    if (part.type === "tool_result" && !ids.has(part.toolCallId))
      return `it has a result of the call ${quoteId(part.toolCallId)}, but no such call comes before it`;
    if (part.type !== "tool_call") continue;
    if (ids.has(part.toolCallId)) return `two calls have the id ${quoteId(part.toolCallId)}`;
    ids.add(part.toolCallId);
  }
  return undefined;
}

function checkResults(message: AssistantMessage, next: Message | undefined): string | undefined {
  const calls = toolCallsOf(message);
  if (calls.length === 0) return undefined;
  const results: ToolMessage["parts"] = next?.role === "tool" ? next.parts : [];
  for (const [index, { toolCallId }] of calls.entries())
    if (results[index]?.toolCallId !== toolCallId)
      return `the next message must have the results of its calls in order: the result of ${quoteId(toolCallId)} is missing`;
  const extra = results[calls.length];
  return extra === undefined ? undefined : `the next message has an extra result, for ${quoteId(extra.toolCallId)}`;
}

function quoteId(id: string): string {
  return JSON.stringify(id.slice(0, 100));
}

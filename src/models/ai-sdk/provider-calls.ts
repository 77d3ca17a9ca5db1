/**
 * Tracks calls that a provider runs itself, across the messages of a conversation.
 *
 * A provider that paused sends the result of such a call in a later message. If the conversation went on without it, the
 * result never arrives. The provider would refuse a call without a result, so the call is omitted.
 */
import { findOpenProviderCalls, type Message } from "../../core/data/message.js";
import type { PromptMessage } from "./call-options.js";
import type { Picture } from "./picture-limits.js";

/** A message's calls whose results are not in the message, and its results of calls in earlier messages. */
export type ProviderCalls = { readonly open: readonly string[]; readonly closed: readonly string[] };

/** A message in the form in which it is sent. `provider` is null for almost every message. */
export type ConvertedMessage = {
  readonly prompt: PromptMessage;
  readonly provider: ProviderCalls | null;
  /** Whether the author marked the message for the provider's prompt cache. */
  readonly isMarked: boolean;
  readonly pictures: readonly Picture[];
  /** Whether the message has a call or a result of `find_tools`. */
  readonly usesFindTools: boolean;
  /** The ids, as sent, of the calls that the model made with the provider's own search tool. */
  readonly searches: readonly string[];
};

export function findProviderCalls(message: Message): ProviderCalls | null {
  if (message.role !== "assistant") return null;
  const calls = new Set(message.parts.flatMap((part) => (part.type === "tool_call" ? [part.toolCallId] : [])));
  const closed = message.parts.flatMap((part) =>
    part.type === "tool_result" && !calls.has(part.toolCallId) ? [part.toolCallId] : [],
  );
  const open = findOpenProviderCalls(message);
  return open.length === 0 && closed.length === 0 ? null : { open, closed };
}

/** The calls that will never get a result: none has arrived, and the user has sent a message since. */
export function findAbandonedCalls(
  messages: readonly Message[],
  converted: readonly ConvertedMessage[],
): ReadonlySet<string> {
  const open = new Map<string, number>();
  for (const [index, { provider }] of converted.entries()) {
    for (const id of provider?.closed ?? []) open.delete(id);
    for (const id of provider?.open ?? []) open.set(id, index);
  }
  if (open.size === 0) return noCalls;
  const lastUser = messages.findLastIndex(({ role }) => role === "user");
  return new Set([...open].flatMap(([id, index]) => (index < lastUser ? [id] : [])));
}

const noCalls: ReadonlySet<string> = new Set();

export function removeCalls(message: PromptMessage, ids: ReadonlySet<string>): PromptMessage {
  if (message.role !== "assistant") return message;
  const isRemoved = (part: (typeof message.content)[number]) =>
    part.type === "tool-call" && part.providerExecuted === true && ids.has(part.toolCallId);
  return message.content.some(isRemoved)
    ? { ...message, content: message.content.filter((part) => !isRemoved(part)) }
    : message;
}

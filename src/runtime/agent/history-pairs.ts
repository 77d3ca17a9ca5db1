/**
 * Pairs the calls and results of a history: each call gets one result, in the next message, in the order of the calls.
 */
import {
  type AssistantMessage,
  findOpenProviderCalls,
  type ToolCallPart,
  type ToolResultPart,
  toolCallsOf,
} from "../../core/data/message.js";
import { createRefuse, type IndexedMessage } from "./history-parts.js";

/**
 * Collects the results of each step in one message. Messages without content are omitted.
 * @param drop whether to omit calls without a result; otherwise they are refused
 * @throws PawlError `bad_input`
 */
export function pairResults(messages: readonly IndexedMessage[], drop: boolean): readonly IndexedMessage[] {
  const whole: IndexedMessage[] = [];
  for (let at = 0; at < messages.length; at += 1) {
    const indexed = messages[at];
    if (indexed === undefined) break;
    const { index, message } = indexed;
    if (message.role === "user") {
      if (message.parts.length === 0) createRefuse(index)("it has no parts with content.");
      whole.push(indexed);
    } else if (message.role === "assistant") {
      const results: IndexedMessage[] = [];
      for (let next = messages[at + 1]; next?.message.role === "tool"; next = messages[at + 1]) {
        results.push(next);
        at += 1;
      }
      whole.push(...pairStep({ index, message }, results, drop));
    } else for (const part of message.parts) createRefuse(index)(`a result without its call: ${describeCall(part)}.`);
  }
  return whole;
}

type Step = { readonly index: number; readonly message: AssistantMessage };

function pairStep(
  { index, message }: Step,
  toolMessages: readonly IndexedMessage[],
  drop: boolean,
): readonly IndexedMessage[] {
  const calls = new Map<string, ToolCallPart>();
  for (const call of toolCallsOf(message)) {
    if (calls.has(call.toolCallId)) createRefuse(index)(`two calls have the id ${JSON.stringify(call.toolCallId)}.`);
    calls.set(call.toolCallId, call);
  }
  const results = new Map<string, ToolResultPart>();
  for (const { index: resultIndex, message: holder } of toolMessages)
    for (const part of holder.parts) {
      if (part.type !== "tool_result") continue;
      if (!calls.has(part.toolCallId)) createRefuse(resultIndex)(`a result without its call: ${describeCall(part)}.`);
      if (results.has(part.toolCallId)) createRefuse(resultIndex)(`two results of one call: ${describeCall(part)}.`);
      results.set(part.toolCallId, part);
    }
  const ownOpen = new Set(findOpenProviderCalls(message));
  const isOpen = ({ toolCallId, providerExecuted }: ToolCallPart) =>
    providerExecuted === true ? ownOpen.has(toolCallId) : !results.has(toolCallId);
  const open = message.parts.filter((part): part is ToolCallPart => part.type === "tool_call" && isOpen(part));
  const [first] = open;
  if (first !== undefined && !drop)
    createRefuse(index)(`a call without a result: ${describeCall(first)}. Set dropOpenCalls: true to omit such calls.`);
  const omitted = new Set<unknown>(open);
  const kept = open.length === 0 ? message : { ...message, parts: message.parts.filter((part) => !omitted.has(part)) };
  // Reasoning on its own belonged to an omitted call, and providers refuse it.
  if (kept.parts.every(({ type }) => type === "reasoning")) return [];
  const parts = toolCallsOf(kept).flatMap(({ toolCallId }) => results.get(toolCallId) ?? []);
  const step: IndexedMessage = { index, message: kept };
  return parts.length === 0
    ? [step]
    : [step, { index: toolMessages[0]?.index ?? index, message: { role: "tool", parts } }];
}

function describeCall({ toolCallId, name }: ToolCallPart | ToolResultPart): string {
  return `${JSON.stringify(toolCallId.slice(0, 100))} of ${name.slice(0, 100)}`;
}

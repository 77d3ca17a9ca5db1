/**
 * Calls and results of a history: each call has one result, in the message after its own, in the order of the calls.
 */
import {
  type AssistantMessage,
  openProviderCalls,
  type ToolCallPart,
  type ToolResultPart,
  toolCallsOf,
} from "../../core/data/message.js";
import { type Placed, refusing } from "./history-parts.js";

/**
 * The same messages with the results of each step in one message. Messages that have nothing to say are left out.
 * @param drop whether calls without a result are left out; otherwise they are refused
 * @throws PawlError `bad_input`
 */
export function paired(messages: readonly Placed[], drop: boolean): readonly Placed[] {
  const whole: Placed[] = [];
  for (let at = 0; at < messages.length; at += 1) {
    const placed = messages[at];
    if (placed === undefined) break;
    const { index, message } = placed;
    if (message.role === "user") {
      if (message.parts.length === 0) refusing(index)("it has no parts with content.");
      whole.push(placed);
    } else if (message.role === "assistant") {
      const results: Placed[] = [];
      for (let next = messages[at + 1]; next?.message.role === "tool"; next = messages[at + 1]) {
        results.push(next);
        at += 1;
      }
      whole.push(...stepOf({ index, message }, results, drop));
    } else for (const part of message.parts) refusing(index)(`a result without its call: ${named(part)}.`);
  }
  return whole;
}

type Step = { readonly index: number; readonly message: AssistantMessage };

function stepOf({ index, message }: Step, given: readonly Placed[], drop: boolean): readonly Placed[] {
  const calls = new Map<string, ToolCallPart>();
  for (const call of toolCallsOf(message)) {
    if (calls.has(call.toolCallId)) refusing(index)(`two calls have the id ${JSON.stringify(call.toolCallId)}.`);
    calls.set(call.toolCallId, call);
  }
  const results = new Map<string, ToolResultPart>();
  for (const { index: place, message: holder } of given)
    for (const part of holder.parts) {
      if (part.type !== "tool_result") continue;
      if (!calls.has(part.toolCallId)) refusing(place)(`a result without its call: ${named(part)}.`);
      if (results.has(part.toolCallId)) refusing(place)(`two results of one call: ${named(part)}.`);
      results.set(part.toolCallId, part);
    }
  const ownOpen = new Set(openProviderCalls(message));
  const isOpen = ({ toolCallId, providerExecuted }: ToolCallPart) =>
    providerExecuted === true ? ownOpen.has(toolCallId) : !results.has(toolCallId);
  const open = message.parts.filter((part): part is ToolCallPart => part.type === "tool_call" && isOpen(part));
  const [first] = open;
  if (first !== undefined && !drop)
    refusing(index)(`a call without a result: ${named(first)}. Give dropOpenCalls: true to leave such calls out.`);
  const left = new Set<unknown>(open);
  const kept = open.length === 0 ? message : { ...message, parts: message.parts.filter((part) => !left.has(part)) };
  // Reasoning alone belongs to a call that was left out, and providers refuse it.
  if (kept.parts.every(({ type }) => type === "reasoning")) return [];
  const parts = toolCallsOf(kept).flatMap(({ toolCallId }) => results.get(toolCallId) ?? []);
  const step: Placed = { index, message: kept };
  return parts.length === 0 ? [step] : [step, { index: given[0]?.index ?? index, message: { role: "tool", parts } }];
}

function named({ toolCallId, name }: ToolCallPart | ToolResultPart): string {
  return `${JSON.stringify(toolCallId.slice(0, 100))} of ${name.slice(0, 100)}`;
}

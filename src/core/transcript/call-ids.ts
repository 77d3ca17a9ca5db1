/**
 * Ids of calls, as a provider is sent them: unique within the conversation, whatever the model gave.
 */
import type { AssistantMessage } from "../data/message.js";

/** The same message where its ids are fine, as they nearly always are. A result in it goes with the first call of its id. */
export function withUniqueIds(ids: Set<string>, message: AssistantMessage): AssistantMessage {
  const renamed = new Map<string, string[]>();
  let changed = false;
  const parts = message.parts.map((part) => {
    if (part.type !== "tool_call" && part.type !== "tool_result") return part;
    const given = part.toolCallId;
    const toolCallId = part.type === "tool_call" ? freeId(ids, given) : (renamed.get(given)?.shift() ?? given);
    if (part.type === "tool_call") {
      ids.add(toolCallId);
      if (part.providerExecuted === true) renamed.set(given, [...(renamed.get(given) ?? []), toolCallId]);
    }
    if (toolCallId === given) return part;
    changed = true;
    return { ...part, toolCallId };
  });
  return changed ? { ...message, parts } : message;
}

function freeId(ids: ReadonlySet<string>, wanted: string): string {
  if (wanted !== "" && !ids.has(wanted)) return wanted;
  const stem = wanted === "" ? "call" : wanted;
  for (let count = ids.size + 1; ; count += 1) {
    const id = `${stem}_${count}`;
    if (!ids.has(id)) return id;
  }
}

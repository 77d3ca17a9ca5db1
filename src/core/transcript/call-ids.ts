/**
 * Makes the call ids that are sent to a provider unique within the conversation, even if the model repeats an id.
 */
import type { AssistantMessage } from "../data/message.js";

/**
 * Returns the message with unique ids; the same object if its ids are already unique, which is nearly always the case. A result in the
 * message belongs to the first call with its id.
 */
export function makeIdsUnique(ids: Set<string>, message: AssistantMessage): AssistantMessage {
  let renamed: Map<string, string[]> | null = null;
  let changed = false;
  const parts = message.parts.map((part) => {
    if (part.type !== "tool_call" && part.type !== "tool_result") return part;
    const original = part.toolCallId;
    const toolCallId =
      part.type === "tool_call" ? createUniqueId(ids, original) : (renamed?.get(original)?.shift() ?? original);
    if (part.type === "tool_call") {
      ids.add(toolCallId);
      if (part.providerExecuted === true)
        renamed = (renamed ?? new Map()).set(original, [...(renamed?.get(original) ?? []), toolCallId]);
    }
    if (toolCallId === original) return part;
    changed = true;
    return { ...part, toolCallId };
  });
  return changed ? { ...message, parts } : message;
}

/** An id that ends in a number, such as Kimi's `functions.read_file:3`, keeps its form and gets a new number. */
function createUniqueId(ids: ReadonlySet<string>, preferred: string): string {
  if (preferred !== "" && !ids.has(preferred)) return preferred;
  const isNumbered = /:\d+$/.test(preferred);
  const stem = isNumbered
    ? preferred.slice(0, preferred.lastIndexOf(":") + 1)
    : `${preferred === "" ? "call" : preferred}_`;
  for (let count = ids.size + 1; ; count += 1) {
    const id = `${stem}${count}`;
    if (!ids.has(id)) return id;
  }
}

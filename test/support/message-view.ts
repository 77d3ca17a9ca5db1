/**
 * A client's view of a message that is being streamed: built from a snapshot and the deltas after it, as any client could.
 */
import type { AssistantMessage, AssistantPart, MessageDelta, StreamItem } from "../../src/index.js";

type MessageSnapshot = Extract<StreamItem, { readonly type: "snapshot" }>;

export type MessageView = {
  readonly applyDelta: (delta: MessageDelta) => void;
  readonly message: () => AssistantMessage;
};

/** Calls and what else comes whole are taken as they are; of calls only the name and the id are kept. */
export function createMessageView(snapshot?: MessageSnapshot): MessageView {
  const parts: AssistantPart[] = structuredClone([...(snapshot?.message.parts ?? [])]);
  const openParts = new Map((snapshot?.open ?? []).map(({ type, id, index }) => [`${type} ${id}`, index]));
  const appliedSeq = snapshot?.deltaSeq ?? 0;

  function startPart(type: "text" | "reasoning", id: string): number {
    parts.push({ type, text: "" });
    openParts.set(`${type} ${id}`, parts.length - 1);
    return parts.length - 1;
  }

  function appendText(type: "text" | "reasoning", id: string, text: string): void {
    const index = openParts.get(`${type} ${id}`) ?? startPart(type, id);
    const part = parts[index];
    if (part?.type === type) parts[index] = { ...part, text: part.text + text };
  }

  return {
    applyDelta(delta) {
      if (delta.seq <= appliedSeq) return;
      switch (delta.kind) {
        case "text-start":
        case "reasoning-start":
          startPart(delta.kind === "text-start" ? "text" : "reasoning", delta.id);
          break;
        case "text-delta":
        case "reasoning-delta":
          appendText(delta.kind === "text-delta" ? "text" : "reasoning", delta.id, delta.text);
          break;
        case "text-end":
        case "reasoning-end":
          openParts.delete(`${delta.kind === "text-end" ? "text" : "reasoning"} ${delta.id}`);
          break;
        case "tool-call":
          parts.push({ type: "tool_call", toolCallId: delta.id, name: delta.name, input: JSON.parse(delta.input) });
          break;
        default:
          break;
      }
    },
    message: () => ({ role: "assistant", parts: parts.filter((part) => !("text" in part) || part.text !== "") }),
  };
}

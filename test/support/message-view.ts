/**
 * A client's view of a message that is being streamed: built from a snapshot and the deltas after it, as any client could.
 */
import type { AssistantMessage, AssistantPart, MessageDelta, StreamItem } from "../../src/index.js";

type Snapshot = Extract<StreamItem, { readonly type: "snapshot" }>;

export type MessageView = {
  readonly take: (delta: MessageDelta) => void;
  readonly message: () => AssistantMessage;
};

/** Calls and what else comes whole are taken as they are; of calls only the name and the id are kept. */
export function createMessageView(snapshot?: Snapshot): MessageView {
  const parts: AssistantPart[] = structuredClone([...(snapshot?.message.parts ?? [])]);
  const open = new Map((snapshot?.open ?? []).map(({ type, id, index }) => [`${type} ${id}`, index]));
  const from = snapshot?.deltaSeq ?? 0;

  function begin(type: "text" | "reasoning", id: string): number {
    parts.push({ type, text: "" });
    open.set(`${type} ${id}`, parts.length - 1);
    return parts.length - 1;
  }

  function add(type: "text" | "reasoning", id: string, text: string): void {
    const index = open.get(`${type} ${id}`) ?? begin(type, id);
    const part = parts[index];
    if (part?.type === type) parts[index] = { ...part, text: part.text + text };
  }

  return {
    take(delta) {
      if (delta.seq <= from) return;
      switch (delta.kind) {
        case "text-start":
        case "reasoning-start":
          begin(delta.kind === "text-start" ? "text" : "reasoning", delta.id);
          break;
        case "text-delta":
        case "reasoning-delta":
          add(delta.kind === "text-delta" ? "text" : "reasoning", delta.id, delta.text);
          break;
        case "text-end":
        case "reasoning-end":
          open.delete(`${delta.kind === "text-end" ? "text" : "reasoning"} ${delta.id}`);
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

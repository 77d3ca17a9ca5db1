/**
 * The contents of a stream or a message, read as a client would: part by part, in the order in which the parts began.
 */
import type { AssistantPart } from "../../core/data/message.js";
import type { ModelDelta, RequestIdentity } from "../../ports/model.js";

export function assembleParts(deltas: readonly ModelDelta[]): readonly string[] {
  const parts: { readonly type: string; readonly id: string; text: string }[] = [];
  for (const delta of deltas) {
    if (delta.kind === "text-start" || delta.kind === "reasoning-start")
      parts.push({ type: delta.kind.slice(0, -6), id: delta.id, text: "" });
    if (delta.kind === "text-delta" || delta.kind === "reasoning-delta") {
      const part = parts.findLast((candidate) => candidate.id === delta.id && `${candidate.type}-delta` === delta.kind);
      if (part !== undefined) part.text += delta.text;
    }
    if (delta.kind === "tool-call") parts.push({ type: "call", id: delta.id, text: `${delta.id} ${delta.name}` });
  }
  return parts.filter((part) => part.text !== "").map((part) => `${part.type}: ${part.text}`);
}

export function formatPart(part: AssistantPart): string {
  if (part.type === "tool_call") return `call: ${part.toolCallId} ${part.name}`;
  return part.type === "text" || part.type === "reasoning" ? `${part.type}: ${part.text}` : part.type;
}

export function formatAttempt(request: Omit<RequestIdentity, "sessionId">): string {
  return `${request.runId}/${request.modelCallIndex} attempt ${request.attempt}`;
}

/**
 * A history of the AI SDK's `ModelMessage`s (versions 5 to 7).
 */
import type { AssistantPart, FilePart, TextPart, ToolOutput, ToolResultPart } from "../../core/data/message.js";
import { sourceOf, unknownRole } from "./history-messages.js";
import {
  callOf,
  type Foreign,
  fileOf,
  listIn,
  metadataOf,
  type Placed,
  plainOutput,
  type Refuse,
  refusing,
  resultOf,
  textIn,
  textPartsOf,
} from "./history-parts.js";

/** @param drop whether calls that wait for an approval are left out */
export function fromModelMessages(messages: readonly Foreign[], drop: boolean): readonly Placed[] {
  const known = approvalsIn(messages);
  return messages.map(({ role, content }, index): Placed => {
    const refuse = refusing(index);
    switch (role) {
      case "user":
        return { index, message: { role, parts: partsIn(content, refuse).flatMap((part) => userPart(part, refuse)) } };
      case "assistant": {
        const given = partsIn(content, refuse);
        const open = openApprovals(given, known);
        if (open.size > 0 && !drop) return refuse(openApproval([...open][0]));
        const parts = given.flatMap((part) =>
          part.type === "tool-call" && open.has(part.toolCallId) ? [] : assistantPart(part, refuse),
        );
        return { index, message: { role, parts } };
      }
      case "tool": {
        const parts = listIn(content, "content", refuse).flatMap((part) => toolPart(part, known, refuse));
        return { index, message: { role, parts } };
      }
      default:
        return refuse(unknownRole(role));
    }
  });
}

export function openApproval(toolCallId: unknown): string {
  return `the call ${JSON.stringify(toolCallId)} waits for an approval. Answer it first, or give dropOpenCalls: true to leave it out.`;
}

function partsIn(content: unknown, refuse: Refuse): readonly Foreign[] {
  return typeof content === "string" ? [{ type: "text", text: content }] : listIn(content, "content", refuse);
}

/** What a history says of approvals, read once. */
type Approvals = {
  /** By the id of an approval, the call that it is about. */
  readonly asked: ReadonlyMap<unknown, Foreign>;
  readonly answered: ReadonlySet<unknown>;
  /** The ids of calls with a result. */
  readonly settled: ReadonlySet<unknown>;
};

function approvalsIn(messages: readonly Foreign[]): Approvals {
  const calls = new Map<unknown, Foreign>();
  const asked = new Map<unknown, Foreign>();
  const answered = new Set<unknown>();
  const settled = new Set<unknown>();
  for (const { content } of messages)
    for (const part of Array.isArray(content) ? (content as readonly (Foreign | null)[]) : []) {
      if (part?.type === "tool-call") calls.set(part.toolCallId, part);
      if (part?.type === "tool-result") settled.add(part.toolCallId);
      if (part?.type === "tool-approval-response") answered.add(part.approvalId);
      const call = part?.type === "tool-approval-request" ? calls.get(part.toolCallId) : undefined;
      if (call !== undefined) asked.set(part?.approvalId, call);
    }
  return { asked, answered, settled };
}

/** The ids of a message's calls for which an approval was asked, and that have no answer and no result. */
function openApprovals(parts: readonly Foreign[], { answered, settled }: Approvals): ReadonlySet<unknown> {
  const open = new Set<unknown>();
  for (const { type, approvalId, toolCallId } of parts)
    if (type === "tool-approval-request" && !answered.has(approvalId) && !settled.has(toolCallId)) open.add(toolCallId);
  return open;
}

function userPart(part: Foreign, refuse: Refuse): readonly (TextPart | FilePart)[] {
  const metadata = metadataOf(part.providerOptions, refuse);
  switch (part.type) {
    case "text":
      return textPartsOf(textIn(part.text, "a text", refuse), metadata);
    case "image":
      return [fileOf({ ...part, mediaType: part.mediaType ?? "image/*", data: part.image, metadata }, refuse)];
    case "file":
      return [fileOf({ ...part, metadata }, refuse)];
    default:
      return refuse(`a user's message cannot have a part of type ${JSON.stringify(part.type)}.`);
  }
}

function assistantPart(part: Foreign, refuse: Refuse): readonly AssistantPart[] {
  const metadata = metadataOf(part.providerOptions, refuse);
  const executed = part.providerExecuted === true ? { providerExecuted: true } : {};
  switch (part.type) {
    case "text":
    case "file":
      return userPart(part, refuse);
    case "reasoning":
      // Providers refuse reasoning that does not have their signature.
      if (metadata.providerMetadata === undefined) return [];
      return [{ type: "reasoning", text: textIn(part.text, "a reasoning", refuse), ...metadata }];
    case "source":
      return [sourceOf({ ...part, providerMetadata: part.providerOptions }, refuse)];
    case "tool-call":
      return [callOf({ ...part, name: part.toolName }, { ...executed, ...metadata }, refuse)];
    case "tool-result":
      return [resultPart(part, { providerExecuted: true, ...metadata }, refuse)];
    case "tool-approval-request":
      return [];
    default:
      return refuse(`a message of the assistant cannot have a part of type ${JSON.stringify(part.type)}.`);
  }
}

/** A denied call has no result of its own: its answer is one. */
function toolPart(part: Foreign, { asked, settled }: Approvals, refuse: Refuse): readonly ToolResultPart[] {
  if (part.type === "tool-result") return [resultPart(part, metadataOf(part.providerOptions, refuse), refuse)];
  if (part.type !== "tool-approval-response") return refuse("a message of the role tool has results only.");
  if (part.approved === true) return [];
  const call = asked.get(part.approvalId);
  if (call === undefined) return refuse("an answer to an approval belongs to no call.");
  if (settled.has(call.toolCallId)) return [];
  return [resultOf({ ...call, name: call.toolName }, deniedOutput(part.reason), { isError: true }, refuse)];
}

export function deniedOutput(reason: unknown): ToolOutput {
  return { type: "text", text: typeof reason === "string" && reason !== "" ? `Denied: ${reason}` : "Denied." };
}

function resultPart(
  part: Foreign,
  more: Partial<Pick<ToolResultPart, "providerExecuted" | "providerMetadata">>,
  refuse: Refuse,
): ToolResultPart {
  const { type, value, reason } = Object(part.output) as Foreign;
  const named = { toolCallId: part.toolCallId, name: part.toolName };
  const result = (output: ToolOutput, isError = false) =>
    resultOf(named, output, { ...(isError ? { isError } : {}), ...more }, refuse);
  switch (type) {
    case "text":
    case "error-text":
      return result({ type: "text", text: textIn(value, "the text of a result", refuse) }, type === "error-text");
    case "json":
    case "error-json":
      return result(plainOutput(value, "the value of a result", refuse), type === "error-json");
    case "execution-denied":
      return result(deniedOutput(reason), true);
    case "content":
      return result({
        type: "content",
        parts: listIn(value, "the content of a result", refuse).flatMap((item) => contentPart(item, refuse)),
      });
    default:
      return refuse(`a result has an output of type ${JSON.stringify(type)}, which is not known.`);
  }
}

function contentPart(item: Foreign, refuse: Refuse): readonly (TextPart | FilePart)[] {
  const metadata = metadataOf(item.providerOptions, refuse);
  switch (item.type) {
    case "text":
      return [{ type: "text", text: textIn(item.text, "a text", refuse), ...metadata }];
    case "media":
    case "file-data":
    case "image-data":
    case "file":
      return [fileOf({ mediaType: "image/*", ...item, metadata }, refuse)];
    case "image-url":
      return [fileOf({ mediaType: "image/*", ...item, data: item.url, metadata }, refuse)];
    case "file-url":
      return [fileOf({ mediaType: "application/octet-stream", ...item, data: item.url, metadata }, refuse)];
    default:
      return refuse(`the content of a result has a part of type ${JSON.stringify(item.type)}, which is not known.`);
  }
}

/**
 * Reads a history of the AI SDK's `ModelMessage`s (versions 5 to 7).
 */
import type { AssistantPart, FilePart, TextPart, ToolOutput, ToolResultPart } from "../../core/data/message.js";
import { formatUnknownRole, toSource } from "./history-messages.js";
import {
  callOf,
  createRefuse,
  type ForeignObject,
  type IndexedMessage,
  type Refuse,
  readList,
  readMetadata,
  readText,
  resultOf,
  toFilePart,
  toPlainOutput,
  toTextParts,
} from "./history-parts.js";

/** @param drop whether to omit calls that wait for an approval; otherwise they are refused */
export function fromModelMessages(messages: readonly ForeignObject[], drop: boolean): readonly IndexedMessage[] {
  const approvals = collectApprovals(messages);
  return messages.map(({ role, content }, index): IndexedMessage => {
    const refuse = createRefuse(index);
    switch (role) {
      case "user":
        return {
          index,
          message: { role, parts: toParts(content, refuse).flatMap((part) => toUserParts(part, refuse)) },
        };
      case "assistant": {
        const given = toParts(content, refuse);
        const open = findOpenApprovals(given, approvals);
        if (open.size > 0 && !drop) return refuse(formatOpenApproval([...open][0]));
        const parts = given.flatMap((part) =>
          part.type === "tool-call" && open.has(part.toolCallId) ? [] : toAssistantParts(part, refuse),
        );
        return { index, message: { role, parts } };
      }
      case "tool": {
        const parts = readList(content, "content", refuse).flatMap((part) => toToolParts(part, approvals, refuse));
        return { index, message: { role, parts } };
      }
      default:
        return refuse(formatUnknownRole(role));
    }
  });
}

export function formatOpenApproval(toolCallId: unknown): string {
  return `the call ${JSON.stringify(toolCallId)} is waiting for an approval. Answer it first, or set dropOpenCalls: true to omit it.`;
}

function toParts(content: unknown, refuse: Refuse): readonly ForeignObject[] {
  return typeof content === "string" ? [{ type: "text", text: content }] : readList(content, "content", refuse);
}

/** The approvals of a history, collected once. */
type Approvals = {
  /** The call of each approval request, by the id of the approval. */
  readonly asked: ReadonlyMap<unknown, ForeignObject>;
  readonly answered: ReadonlySet<unknown>;
  /** The ids of calls with a result. */
  readonly settled: ReadonlySet<unknown>;
};

function collectApprovals(messages: readonly ForeignObject[]): Approvals {
  const calls = new Map<unknown, ForeignObject>();
  const asked = new Map<unknown, ForeignObject>();
  const answered = new Set<unknown>();
  const settled = new Set<unknown>();
  for (const { content } of messages)
    for (const part of Array.isArray(content) ? (content as readonly (ForeignObject | null)[]) : []) {
      if (part?.type === "tool-call") calls.set(part.toolCallId, part);
      if (part?.type === "tool-result") settled.add(part.toolCallId);
      if (part?.type === "tool-approval-response") answered.add(part.approvalId);
      const call = part?.type === "tool-approval-request" ? calls.get(part.toolCallId) : undefined;
      if (call !== undefined) asked.set(part?.approvalId, call);
    }
  return { asked, answered, settled };
}

/** The ids of a message's calls that wait for an approval: one was requested, and there is neither an answer nor a result. */
function findOpenApprovals(parts: readonly ForeignObject[], { answered, settled }: Approvals): ReadonlySet<unknown> {
  const open = new Set<unknown>();
  for (const { type, approvalId, toolCallId } of parts)
    if (type === "tool-approval-request" && !answered.has(approvalId) && !settled.has(toolCallId)) open.add(toolCallId);
  return open;
}

function toUserParts(part: ForeignObject, refuse: Refuse): readonly (TextPart | FilePart)[] {
  const metadata = readMetadata(part.providerOptions, refuse);
  switch (part.type) {
    case "text":
      return toTextParts(readText(part.text, "the text", refuse), metadata);
    case "image":
      return [toFilePart({ ...part, mediaType: part.mediaType ?? "image/*", data: part.image, metadata }, refuse)];
    case "file":
      return [toFilePart({ ...part, metadata }, refuse)];
    default:
      return refuse(`a user's message cannot have a part of type ${JSON.stringify(part.type)}.`);
  }
}

function toAssistantParts(part: ForeignObject, refuse: Refuse): readonly AssistantPart[] {
  const metadata = readMetadata(part.providerOptions, refuse);
  const executed = part.providerExecuted === true ? { providerExecuted: true } : {};
  switch (part.type) {
    case "text":
    case "file":
      return toUserParts(part, refuse);
    case "reasoning":
      // Providers refuse reasoning that does not have their signature.
      if (metadata.providerMetadata === undefined) return [];
      return [{ type: "reasoning", text: readText(part.text, "the text of a reasoning part", refuse), ...metadata }];
    case "source":
      return [toSource({ ...part, providerMetadata: part.providerOptions }, refuse)];
    case "tool-call":
      return [callOf({ ...part, name: part.toolName }, { ...executed, ...metadata }, refuse)];
    case "tool-result":
      return [toResultPart(part, { providerExecuted: true, ...metadata }, refuse)];
    case "tool-approval-request":
      return [];
    default:
      return refuse(`a message of the assistant cannot have a part of type ${JSON.stringify(part.type)}.`);
  }
}

/** A denied call has no result in the history, so the denial becomes its result. */
function toToolParts(part: ForeignObject, { asked, settled }: Approvals, refuse: Refuse): readonly ToolResultPart[] {
  if (part.type === "tool-result") return [toResultPart(part, readMetadata(part.providerOptions, refuse), refuse)];
  if (part.type !== "tool-approval-response") return refuse("a message with the role tool can only have results.");
  if (part.approved === true) return [];
  const call = asked.get(part.approvalId);
  if (call === undefined) return refuse("an approval response does not belong to any call.");
  if (settled.has(call.toolCallId)) return [];
  return [resultOf({ ...call, name: call.toolName }, createDeniedOutput(part.reason), { isError: true }, refuse)];
}

export function createDeniedOutput(reason: unknown): ToolOutput {
  return { type: "text", text: typeof reason === "string" && reason !== "" ? `Denied: ${reason}` : "Denied." };
}

function toResultPart(
  part: ForeignObject,
  more: Partial<Pick<ToolResultPart, "providerExecuted" | "providerMetadata">>,
  refuse: Refuse,
): ToolResultPart {
  const { type, value, reason } = Object(part.output) as ForeignObject;
  const named = { toolCallId: part.toolCallId, name: part.toolName };
  const result = (output: ToolOutput, isError = false) =>
    resultOf(named, output, { ...(isError ? { isError } : {}), ...more }, refuse);
  switch (type) {
    case "text":
    case "error-text":
      return result({ type: "text", text: readText(value, "the text of a result", refuse) }, type === "error-text");
    case "json":
    case "error-json":
      return result(toPlainOutput(value, "the value of a result", refuse), type === "error-json");
    case "execution-denied":
      return result(createDeniedOutput(reason), true);
    case "content":
      return result({
        type: "content",
        parts: readList(value, "the content of a result", refuse).flatMap((item) => toContentParts(item, refuse)),
      });
    default:
      return refuse(`a result has an output of the unknown type ${JSON.stringify(type)}.`);
  }
}

function toContentParts(item: ForeignObject, refuse: Refuse): readonly (TextPart | FilePart)[] {
  const metadata = readMetadata(item.providerOptions, refuse);
  switch (item.type) {
    case "text":
      return [{ type: "text", text: readText(item.text, "the text", refuse), ...metadata }];
    case "media":
    case "file-data":
    case "image-data":
    case "file":
      return [toFilePart({ mediaType: "image/*", ...item, metadata }, refuse)];
    case "image-url":
      return [toFilePart({ mediaType: "image/*", ...item, data: item.url, metadata }, refuse)];
    case "file-url":
      return [toFilePart({ mediaType: "application/octet-stream", ...item, data: item.url, metadata }, refuse)];
    default:
      return refuse(`the content of a result has a part of the unknown type ${JSON.stringify(item.type)}.`);
  }
}

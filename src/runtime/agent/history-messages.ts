/**
 * Reads a history of Pawl's own messages, as `session.messages()` returns them.
 */
import type { AssistantPart, ToolOutput, ToolResultPart, UserPart } from "../../core/data/message.js";
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
  toJson,
  toPlainOutput,
  toTextParts,
} from "./history-parts.js";

export function fromPawl(messages: readonly ForeignObject[]): readonly IndexedMessage[] {
  return messages.map(({ role, parts, providerMetadata }, index) => {
    const refuse = createRefuse(index);
    const list = readList(parts, "parts", refuse);
    switch (role) {
      case "user":
        return { index, message: { role, parts: list.flatMap((part) => toUserParts(part, refuse)) } };
      case "assistant": {
        const own = readMetadata(providerMetadata, refuse);
        return { index, message: { role, parts: list.flatMap((part) => toAssistantParts(part, refuse)), ...own } };
      }
      case "tool":
        return { index, message: { role, parts: list.map((part) => toResultPart(part, refuse)) } };
      default:
        return refuse(formatUnknownRole(role));
    }
  });
}

export function formatUnknownRole(role: unknown): string {
  return role === "system"
    ? "a system message cannot be part of a history. Use the option systemPrompt."
    : `it has the role ${JSON.stringify(String(role).slice(0, 100))}; it must be user, assistant or tool.`;
}

function toUserParts(part: ForeignObject, refuse: Refuse): readonly UserPart[] {
  const metadata = readMetadata(part.providerMetadata, refuse);
  if (part.type === "text") return toTextParts(readText(part.text, "the text", refuse), metadata);
  if (part.type === "file") return [toOwnFile(part, refuse)];
  return refuse(`a user's message cannot have a part of type ${JSON.stringify(part.type)}.`);
}

function toOwnFile(part: ForeignObject, refuse: Refuse) {
  if (typeof part.data === "string" && part.data.startsWith("blob:"))
    return refuse("a file refers to a blob of another session. Give its content as base64, or its URL.");
  return toFilePart({ ...part, metadata: readMetadata(part.providerMetadata, refuse) }, refuse);
}

function toAssistantParts(part: ForeignObject, refuse: Refuse): readonly AssistantPart[] {
  const metadata = readMetadata(part.providerMetadata, refuse);
  const executed = part.providerExecuted === true ? { providerExecuted: true } : {};
  switch (part.type) {
    case "text":
    case "file":
      return toUserParts(part, refuse);
    case "reasoning":
      return [{ type: "reasoning", text: readText(part.text, "the text of a reasoning part", refuse), ...metadata }];
    case "source":
      return [toSource(part, refuse)];
    case "tool_call":
      return [callOf(part, { ...executed, ...metadata }, refuse)];
    case "tool_result":
      return [toResultPart(part, refuse)];
    default:
      return refuse(`a message of the assistant cannot have a part of type ${JSON.stringify(part.type)}.`);
  }
}

/** Converts a source. Other libraries name its id differently. */
export function toSource(part: ForeignObject, refuse: Refuse): AssistantPart {
  const { url, title, filename, mediaType } = part;
  const texts = Object.entries({ url, title, filename, mediaType }).filter(([, value]) => typeof value === "string");
  const id = readText(part.id ?? part.sourceId ?? "", "the id of a source", refuse);
  return { type: "source", id, ...Object.fromEntries(texts), ...readMetadata(part.providerMetadata, refuse) };
}

function toResultPart(part: ForeignObject, refuse: Refuse): ToolResultPart {
  if (part.type !== "tool_result") return refuse("a message with the role tool can only have results.");
  const error = part.isError === true ? { isError: true } : {};
  const executed = part.providerExecuted === true ? { providerExecuted: true } : {};
  const more = { ...error, ...executed, ...readMetadata(part.providerMetadata, refuse) };
  return resultOf(part, toOutput(part.output, refuse), more, refuse);
}

/** Drops the reference to the full text of a truncated output: the blob belongs to another session. */
function toOutput(given: unknown, refuse: Refuse): ToolOutput {
  const { type, text, value, parts } = Object(given) as ForeignObject;
  switch (type) {
    case "text":
      return { type, text: readText(text, "the text of a result", refuse) };
    case "json":
      return { type, value: toJson(value, "the value of a result", refuse) };
    case "content":
      return { type, parts: readList(parts, "parts", refuse).flatMap((part) => toUserParts(part, refuse)) };
    default:
      return toPlainOutput(given, "the output of a result", refuse);
  }
}

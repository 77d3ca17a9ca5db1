/**
 * A history of Pawl's own messages, as `session.messages()` gives them.
 */
import type { AssistantPart, ToolOutput, ToolResultPart, UserPart } from "../../core/data/message.js";
import {
  callOf,
  type Foreign,
  fileOf,
  jsonOf,
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

export function fromPawl(messages: readonly Foreign[]): readonly Placed[] {
  return messages.map(({ role, parts, providerMetadata }, index) => {
    const refuse = refusing(index);
    const list = listIn(parts, "parts", refuse);
    switch (role) {
      case "user":
        return { index, message: { role, parts: list.flatMap((part) => userPart(part, refuse)) } };
      case "assistant": {
        const own = metadataOf(providerMetadata, refuse);
        return { index, message: { role, parts: list.flatMap((part) => assistantPart(part, refuse)), ...own } };
      }
      case "tool":
        return { index, message: { role, parts: list.map((part) => resultPart(part, refuse)) } };
      default:
        return refuse(unknownRole(role));
    }
  });
}

export function unknownRole(role: unknown): string {
  return role === "system"
    ? "a system message is no part of a conversation here. Use the option systemPrompt."
    : `it has the role ${JSON.stringify(String(role).slice(0, 100))}; it must be user, assistant or tool.`;
}

function userPart(part: Foreign, refuse: Refuse): readonly UserPart[] {
  const metadata = metadataOf(part.providerMetadata, refuse);
  if (part.type === "text") return textPartsOf(textIn(part.text, "a text", refuse), metadata);
  if (part.type === "file") return [ownFile(part, refuse)];
  return refuse(`a user's message cannot have a part of type ${JSON.stringify(part.type)}.`);
}

function ownFile(part: Foreign, refuse: Refuse) {
  if (typeof part.data === "string" && part.data.startsWith("blob:"))
    return refuse("a file is a blob of another session. Give its content as base64, or its URL.");
  return fileOf({ ...part, metadata: metadataOf(part.providerMetadata, refuse) }, refuse);
}

function assistantPart(part: Foreign, refuse: Refuse): readonly AssistantPart[] {
  const metadata = metadataOf(part.providerMetadata, refuse);
  const executed = part.providerExecuted === true ? { providerExecuted: true } : {};
  switch (part.type) {
    case "text":
    case "file":
      return userPart(part, refuse);
    case "reasoning":
      return [{ type: "reasoning", text: textIn(part.text, "a reasoning", refuse), ...metadata }];
    case "source":
      return [sourceOf(part, refuse)];
    case "tool_call":
      return [callOf(part, { ...executed, ...metadata }, refuse)];
    case "tool_result":
      return [resultPart(part, refuse)];
    default:
      return refuse(`a message of the assistant cannot have a part of type ${JSON.stringify(part.type)}.`);
  }
}

/** A source, also of other libraries, which name its id in different ways. */
export function sourceOf(part: Foreign, refuse: Refuse): AssistantPart {
  const { url, title, filename, mediaType } = part;
  const texts = Object.entries({ url, title, filename, mediaType }).filter(([, value]) => typeof value === "string");
  const id = textIn(part.id ?? part.sourceId ?? "", "the id of a source", refuse);
  return { type: "source", id, ...Object.fromEntries(texts), ...metadataOf(part.providerMetadata, refuse) };
}

function resultPart(part: Foreign, refuse: Refuse): ToolResultPart {
  if (part.type !== "tool_result") return refuse("a message of the role tool has results only.");
  const error = part.isError === true ? { isError: true } : {};
  const executed = part.providerExecuted === true ? { providerExecuted: true } : {};
  const more = { ...error, ...executed, ...metadataOf(part.providerMetadata, refuse) };
  return resultOf(part, outputOf(part.output, refuse), more, refuse);
}

/** Without the reference to the whole text of a cut output: that is a blob of another session. */
function outputOf(given: unknown, refuse: Refuse): ToolOutput {
  const { type, text, value, parts } = Object(given) as Foreign;
  switch (type) {
    case "text":
      return { type, text: textIn(text, "the text of a result", refuse) };
    case "json":
      return { type, value: jsonOf(value, "the value of a result", refuse) };
    case "content":
      return { type, parts: listIn(parts, "parts", refuse).flatMap((part) => userPart(part, refuse)) };
    default:
      return plainOutput(given, "the output of a result", refuse);
  }
}

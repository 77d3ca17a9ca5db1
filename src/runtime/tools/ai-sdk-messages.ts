/**
 * Converts a conversation to the AI SDK's `ModelMessage`s, which the AI SDK's tools receive. A run's option `history` accepts them.
 */
import type {
  AssistantPart,
  FilePart,
  Message,
  ProviderMetadata,
  TextPart,
  ToolOutput,
  ToolResultPart,
} from "../../core/data/message.js";

type ModelMessage = { readonly role: Message["role"]; readonly content: readonly object[] };

/** Sources are omitted, because a `ModelMessage` cannot contain them. */
export function toModelMessages(messages: readonly Message[]): readonly ModelMessage[] {
  return messages.map(({ role, parts }) => ({ role, content: parts.flatMap(toModelParts) }));
}

function toModelParts(part: AssistantPart): readonly object[] {
  switch (part.type) {
    case "text":
    case "reasoning":
      return [{ type: part.type, text: part.text, ...pickProviderOptions(part) }];
    case "file":
      return [toModelFile(part)];
    case "source":
      return [];
    case "tool_call": {
      const { toolCallId, name, input, approvalId } = part;
      const executed = part.providerExecuted === true ? { providerExecuted: true } : {};
      const call = { type: "tool-call", toolCallId, toolName: name, input, ...executed, ...pickProviderOptions(part) };
      return approvalId === undefined ? [call] : [call, { type: "tool-approval-request", approvalId, toolCallId }];
    }
    case "tool_result":
      return [toModelResult(part)];
  }
}

function toModelFile(part: FilePart): object {
  const { mediaType, data, filename } = part;
  const named = filename === undefined ? {} : { filename };
  return { type: "file", mediaType, data: isUrl(data) ? new URL(data) : data, ...named, ...pickProviderOptions(part) };
}

function toModelResult(part: ToolResultPart): object {
  if (part.approval !== undefined) return { type: "tool-approval-response", ...part.approval };
  const { toolCallId, name, output, isError } = part;
  return {
    type: "tool-result",
    toolCallId,
    toolName: name,
    output: toModelOutput(output, isError === true),
    ...pickProviderOptions(part),
  };
}

function toModelOutput(output: ToolOutput, failed: boolean): object {
  if (output.type === "json") return { type: failed ? "error-json" : "json", value: output.value };
  if (output.type === "text") return { type: failed ? "error-text" : "text", value: output.text };
  return { type: "content", value: output.parts.map(toModelContent) };
}

function toModelContent(part: TextPart | FilePart): object {
  if (part.type === "text") return { type: "text", text: part.text, ...pickProviderOptions(part) };
  const { mediaType, data } = part;
  const kind = mediaType.startsWith("image/") ? "image" : "file";
  if (isUrl(data)) return { type: `${kind}-url`, url: data, ...pickProviderOptions(part) };
  return { type: `${kind}-data`, mediaType, data, ...pickProviderOptions(part) };
}

function isUrl(data: string): boolean {
  return /^https?:\/\//i.test(data.slice(0, 8)) && URL.canParse(data);
}

function pickProviderOptions({ providerMetadata }: { readonly providerMetadata?: ProviderMetadata }): object {
  return providerMetadata === undefined ? {} : { providerOptions: providerMetadata };
}

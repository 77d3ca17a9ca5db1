/**
 * A conversation as the AI SDK's `ModelMessage`s: what its tools are given. A run's option `history` takes them back.
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

/** Sources are left out: a `ModelMessage` has none. */
export function toModelMessages(messages: readonly Message[]): readonly ModelMessage[] {
  return messages.map(({ role, parts }) => ({ role, content: parts.flatMap(partOf) }));
}

function partOf(part: AssistantPart): readonly object[] {
  switch (part.type) {
    case "text":
    case "reasoning":
      return [{ type: part.type, text: part.text, ...optionsOf(part) }];
    case "file":
      return [fileOf(part)];
    case "source":
      return [];
    case "tool_call": {
      const { toolCallId, name, input, approvalId } = part;
      const ran = part.providerExecuted === true ? { providerExecuted: true } : {};
      const call = { type: "tool-call", toolCallId, toolName: name, input, ...ran, ...optionsOf(part) };
      return approvalId === undefined ? [call] : [call, { type: "tool-approval-request", approvalId, toolCallId }];
    }
    case "tool_result":
      return [resultOf(part)];
  }
}

function fileOf(part: FilePart): object {
  const { mediaType, data, filename } = part;
  const named = filename === undefined ? {} : { filename };
  return { type: "file", mediaType, data: isUrl(data) ? new URL(data) : data, ...named, ...optionsOf(part) };
}

function resultOf(part: ToolResultPart): object {
  if (part.approval !== undefined) return { type: "tool-approval-response", ...part.approval };
  const { toolCallId, name, output, isError } = part;
  return {
    type: "tool-result",
    toolCallId,
    toolName: name,
    output: outputOf(output, isError === true),
    ...optionsOf(part),
  };
}

function outputOf(output: ToolOutput, failed: boolean): object {
  if (output.type === "json") return { type: failed ? "error-json" : "json", value: output.value };
  if (output.type === "text") return { type: failed ? "error-text" : "text", value: output.text };
  return { type: "content", value: output.parts.map(contentOf) };
}

function contentOf(part: TextPart | FilePart): object {
  if (part.type === "text") return { type: "text", text: part.text, ...optionsOf(part) };
  const { mediaType, data } = part;
  const kind = mediaType.startsWith("image/") ? "image" : "file";
  if (isUrl(data)) return { type: `${kind}-url`, url: data, ...optionsOf(part) };
  return { type: `${kind}-data`, mediaType, data, ...optionsOf(part) };
}

function isUrl(data: string): boolean {
  return /^https?:\/\//i.test(data.slice(0, 8)) && URL.canParse(data);
}

function optionsOf({ providerMetadata }: { readonly providerMetadata?: ProviderMetadata }): object {
  return providerMetadata === undefined ? {} : { providerOptions: providerMetadata };
}

/**
 * Reads a history of the AI SDK's `UIMessage`s (versions 5 to 7).
 */
import type { AssistantPart, FilePart, Message, TextPart, ToolResultPart } from "../../core/data/message.js";
import { formatUnknownRole, toSource } from "./history-messages.js";
import { createDeniedOutput, formatOpenApproval } from "./history-model-messages.js";
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
export function fromUIMessages(messages: readonly ForeignObject[], drop: boolean): readonly IndexedMessage[] {
  return messages.flatMap(({ role, parts }, index): readonly IndexedMessage[] => {
    const refuse = createRefuse(index);
    const list = readList(parts, "parts", refuse);
    if (role !== "user" && role !== "assistant") return refuse(formatUnknownRole(role));
    if (role === "assistant") return splitSteps(list, drop, refuse).map((message) => ({ index, message }));
    const userParts = list.flatMap((part) => toUserParts(part, refuse));
    // A message that contains only the page's own data has no content for a model.
    return userParts.length === 0 ? [] : [{ index, message: { role, parts: userParts } }];
  });
}

function isOmitted({ type }: ForeignObject): boolean {
  return typeof type === "string" && type.startsWith("data-");
}

function toUserParts(part: ForeignObject, refuse: Refuse): readonly (TextPart | FilePart)[] {
  if (isOmitted(part)) return [];
  const metadata = readMetadata(part.providerMetadata, refuse);
  if (part.type === "text") return toTextParts(readText(part.text, "the text", refuse), metadata);
  if (part.type === "file") return [toFilePart({ ...part, data: part.url ?? part.data, metadata }, refuse)];
  return refuse(`a user's message cannot have a part of type ${JSON.stringify(part.type)}.`);
}

/** Splits a UI message, which contains all steps of an answer, into one message per step, each followed by its results. */
function splitSteps(parts: readonly ForeignObject[], drop: boolean, refuse: Refuse): readonly Message[] {
  const messages: Message[] = [];
  let assistantParts: AssistantPart[] = [];
  let results: ToolResultPart[] = [];
  const endMessage = () => {
    if (assistantParts.length > 0) messages.push({ role: "assistant", parts: assistantParts });
    if (results.length > 0) messages.push({ role: "tool", parts: results });
    assistantParts = [];
    results = [];
  };
  for (const part of parts) {
    if (part.type === "step-start") endMessage();
    else if (getToolName(part) === undefined) assistantParts.push(...toAssistantParts(part, refuse));
    else {
      const { call, result } = toCallAndResult(part, drop, refuse);
      if (call !== undefined) assistantParts.push(call);
      if (result?.providerExecuted === true) assistantParts.push(result);
      else if (result !== undefined) results.push(result);
    }
  }
  endMessage();
  return messages;
}

function getToolName({ type, toolName }: ForeignObject): unknown {
  if (type === "dynamic-tool") return toolName ?? "";
  return typeof type === "string" && type.startsWith("tool-") ? type.slice("tool-".length) : undefined;
}

function toAssistantParts(part: ForeignObject, refuse: Refuse): readonly AssistantPart[] {
  switch (part.type) {
    case "reasoning": {
      // Providers refuse reasoning that does not have their signature.
      const metadata = readMetadata(part.providerMetadata, refuse);
      if (metadata.providerMetadata === undefined) return [];
      return [{ type: "reasoning", text: readText(part.text, "the text of a reasoning part", refuse), ...metadata }];
    }
    case "source-url":
    case "source-document":
      return [toSource(part, refuse)];
    case "text":
    case "file":
      return toUserParts(part, refuse);
    default:
      if (isOmitted(part)) return [];
      return refuse(`a message of the assistant cannot have a part of type ${JSON.stringify(part.type)}.`);
  }
}

/** Converts a tool part. A call without an output gets no result here; `pairResults` decides whether that is allowed. */
function toCallAndResult(
  part: ForeignObject,
  drop: boolean,
  refuse: Refuse,
): { readonly call?: AssistantPart; readonly result?: ToolResultPart } {
  const { state, toolCallId, approval } = part;
  const name = getToolName(part);
  const metadata = readMetadata(part.callProviderMetadata, refuse);
  const executed = part.providerExecuted === true ? { providerExecuted: true } : {};
  if (state === "approval-requested") return drop ? {} : refuse(formatOpenApproval(toolCallId));
  const call = callOf({ toolCallId, name, input: part.input ?? part.rawInput }, { ...executed, ...metadata }, refuse);
  const named = { toolCallId, name };
  const { approved, reason } = Object(approval) as ForeignObject;
  switch (state) {
    case "output-available": {
      if (part.preliminary === true) return { call };
      const output = toPlainOutput(part.output, "the output of a call", refuse);
      return { call, result: resultOf(named, output, { ...executed, ...metadata }, refuse) };
    }
    case "output-error": {
      const text = readText(part.errorText, "the errorText of a call", refuse);
      return { call, result: resultOf(named, { type: "text", text }, { isError: true, ...executed }, refuse) };
    }
    case "output-denied":
      return { call, result: resultOf(named, createDeniedOutput(reason), { isError: true, ...executed }, refuse) };
    case "approval-responded":
      if (approved !== false) return { call };
      return { call, result: resultOf(named, createDeniedOutput(reason), { isError: true, ...executed }, refuse) };
    case "input-streaming":
    case "input-available":
      return { call };
    default:
      return refuse(`the call ${JSON.stringify(toolCallId)} is in the unknown state ${JSON.stringify(state)}.`);
  }
}

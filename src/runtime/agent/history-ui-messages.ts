/**
 * A history of the AI SDK's `UIMessage`s (versions 5 to 7).
 */
import type { AssistantPart, FilePart, Message, TextPart, ToolResultPart } from "../../core/data/message.js";
import { sourceOf, unknownRole } from "./history-messages.js";
import { deniedOutput, openApproval } from "./history-model-messages.js";
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
export function fromUIMessages(messages: readonly Foreign[], drop: boolean): readonly Placed[] {
  return messages.flatMap(({ role, parts }, index): readonly Placed[] => {
    const refuse = refusing(index);
    const list = listIn(parts, "parts", refuse);
    if (role !== "user" && role !== "assistant") return refuse(unknownRole(role));
    if (role === "assistant") return stepsIn(list, drop, refuse).map((message) => ({ index, message }));
    const shown = list.flatMap((part) => userPart(part, refuse));
    // A message that holds only data of the page says nothing to a model.
    return shown.length === 0 ? [] : [{ index, message: { role, parts: shown } }];
  });
}

function isLeftOut({ type }: Foreign): boolean {
  return typeof type === "string" && type.startsWith("data-");
}

function userPart(part: Foreign, refuse: Refuse): readonly (TextPart | FilePart)[] {
  if (isLeftOut(part)) return [];
  const metadata = metadataOf(part.providerMetadata, refuse);
  if (part.type === "text") return textPartsOf(textIn(part.text, "a text", refuse), metadata);
  if (part.type === "file") return [fileOf({ ...part, data: part.url ?? part.data, metadata }, refuse)];
  return refuse(`a user's message cannot have a part of type ${JSON.stringify(part.type)}.`);
}

/** One message of a page holds all steps of an answer: each becomes a message with its results. */
function stepsIn(parts: readonly Foreign[], drop: boolean, refuse: Refuse): readonly Message[] {
  const messages: Message[] = [];
  let said: AssistantPart[] = [];
  let results: ToolResultPart[] = [];
  const close = () => {
    if (said.length > 0) messages.push({ role: "assistant", parts: said });
    if (results.length > 0) messages.push({ role: "tool", parts: results });
    said = [];
    results = [];
  };
  for (const part of parts) {
    if (part.type === "step-start") close();
    else if (toolNameOf(part) === undefined) said.push(...assistantPart(part, refuse));
    else {
      const { call, result } = toolPart(part, drop, refuse);
      if (call !== undefined) said.push(call);
      if (result?.providerExecuted === true) said.push(result);
      else if (result !== undefined) results.push(result);
    }
  }
  close();
  return messages;
}

function toolNameOf({ type, toolName }: Foreign): unknown {
  if (type === "dynamic-tool") return toolName ?? "";
  return typeof type === "string" && type.startsWith("tool-") ? type.slice("tool-".length) : undefined;
}

function assistantPart(part: Foreign, refuse: Refuse): readonly AssistantPart[] {
  switch (part.type) {
    case "reasoning": {
      // Providers refuse reasoning that does not have their signature.
      const metadata = metadataOf(part.providerMetadata, refuse);
      if (metadata.providerMetadata === undefined) return [];
      return [{ type: "reasoning", text: textIn(part.text, "a reasoning", refuse), ...metadata }];
    }
    case "source-url":
    case "source-document":
      return [sourceOf(part, refuse)];
    case "text":
    case "file":
      return userPart(part, refuse);
    default:
      if (isLeftOut(part)) return [];
      return refuse(`a message of the assistant cannot have a part of type ${JSON.stringify(part.type)}.`);
  }
}

/** A call without an output stays without a result: whether that is allowed is decided for all histories alike. */
function toolPart(
  part: Foreign,
  drop: boolean,
  refuse: Refuse,
): { readonly call?: AssistantPart; readonly result?: ToolResultPart } {
  const { state, toolCallId, approval } = part;
  const name = toolNameOf(part);
  const metadata = metadataOf(part.callProviderMetadata, refuse);
  const executed = part.providerExecuted === true ? { providerExecuted: true } : {};
  if (state === "approval-requested") return drop ? {} : refuse(openApproval(toolCallId));
  const call = callOf({ toolCallId, name, input: part.input ?? part.rawInput }, { ...executed, ...metadata }, refuse);
  const named = { toolCallId, name };
  const { approved, reason } = Object(approval) as Foreign;
  switch (state) {
    case "output-available": {
      if (part.preliminary === true) return { call };
      const output = plainOutput(part.output, "the output of a call", refuse);
      return { call, result: resultOf(named, output, { ...executed, ...metadata }, refuse) };
    }
    case "output-error": {
      const text = textIn(part.errorText, "the errorText of a call", refuse);
      return { call, result: resultOf(named, { type: "text", text }, { isError: true, ...executed }, refuse) };
    }
    case "output-denied":
      return { call, result: resultOf(named, deniedOutput(reason), { isError: true, ...executed }, refuse) };
    case "approval-responded":
      if (approved !== false) return { call };
      return { call, result: resultOf(named, deniedOutput(reason), { isError: true, ...executed }, refuse) };
    case "input-streaming":
    case "input-available":
      return { call };
    default:
      return refuse(
        `the call ${JSON.stringify(toolCallId)} is in the state ${JSON.stringify(state)}, which is not known.`,
      );
  }
}

/**
 * Parses a model's tool call, and limits its size for the log.
 */
import { parseJson } from "../../core/data/json.js";
import type { Json, ToolCallPart } from "../../core/data/message.js";
import type { ModelDelta } from "../../ports/model.js";
import { truncate } from "../lib/error-text.js";

/** Converts a delta to a call. */
export function parseToolCall(delta: Extract<ModelDelta, { kind: "tool-call" }>): ToolCallPart {
  const { id, name, input, providerExecuted, providerMetadata } = delta;
  const parsed = parseArguments(input);
  return {
    type: "tool_call",
    toolCallId: truncate(id, maxName),
    name: truncate(name, maxName),
    input: parsed.value,
    ...(parsed.invalid === undefined ? {} : { invalid: parsed.invalid }),
    ...(providerExecuted === true ? { providerExecuted } : {}),
    ...(providerMetadata === undefined ? {} : { providerMetadata }),
  };
}

/** Names and ids are short. A longer name cannot be a tool's name, and is truncated so that it can still be shown. */
const maxName = 512;

/** In characters. If the arguments of a call are longer, only this call fails, with a result that says why. */
const maxArgumentCharacters = 500_000;

export function isTooLong(text: string): boolean {
  return text.length > maxArgumentCharacters;
}

/** Arguments that are not acceptable JSON stay as the model wrote them (TOOL-3), unless they are too long for the log. */
function parseArguments(text: string): { readonly value: Json; readonly invalid?: string } {
  if (text.trim() === "") return { value: {} };
  if (isTooLong(text))
    return { value: {}, invalid: `${text.length} characters, and ${maxArgumentCharacters} can be taken` };
  const parsed = parseJson(text);
  return parsed.ok ? { value: parsed.value } : { value: { _raw: text }, invalid: parsed.error };
}

/**
 * A call as a model asked for it, kept within bounds.
 */
import { parseJson } from "../../core/data/json.js";
import type { Json, ToolCallPart } from "../../core/data/message.js";
import type { ModelDelta } from "../../ports/model.js";

/** The call that a delta stands for. */
export function toolCallOf(delta: Extract<ModelDelta, { kind: "tool-call" }>): ToolCallPart {
  const { id, name, input, providerExecuted, providerMetadata } = delta;
  const parsed = parseArguments(input);
  return {
    type: "tool_call",
    toolCallId: shortened(id),
    name: shortened(name),
    input: parsed.value,
    ...(parsed.invalid === undefined ? {} : { invalid: parsed.invalid }),
    ...(providerExecuted === true ? { providerExecuted } : {}),
    ...(providerMetadata === undefined ? {} : { providerMetadata }),
  };
}

const longestName = 512;

/** Names and ids are short; what is not is no tool's name, and still has to be shown. */
function shortened(text: string): string {
  return text.length > longestName ? `${text.slice(0, longestName)}…` : text;
}

/** Characters of one call's arguments; longer ones fail alone, and the model is told. */
const maxArgumentCharacters = 500_000;

export function isTooLong(text: string): boolean {
  return text.length > maxArgumentCharacters;
}

/** Arguments that are no acceptable JSON are kept as the model wrote them (TOOL-3), unless they are too long to be kept. */
function parseArguments(text: string): { readonly value: Json; readonly invalid?: string } {
  if (text.trim() === "") return { value: {} };
  if (isTooLong(text))
    return { value: {}, invalid: `${text.length} characters, and ${maxArgumentCharacters} can be taken` };
  const parsed = parseJson(text);
  return parsed.ok ? { value: parsed.value } : { value: { _raw: text }, invalid: parsed.error };
}

/**
 * The inner call of a `call_tool` call.
 */
import { isObject } from "../../core/data/is-object.js";
import { parseJson } from "../../core/data/json.js";
import type { Json, ToolCallPart } from "../../core/data/message.js";
import { callToolName } from "../../core/data/tool-search-names.js";

export type InnerCall = { readonly name: string; readonly input: Json };

/** Null if the input does not name a tool. Small models write the inner input as a string of JSON. */
export function parseInnerCall(input: Json): InnerCall | null {
  if (!isObject(input)) return null;
  const { name, input: inner = {} } = input;
  if (typeof name !== "string" || name === "") return null;
  const parsed = typeof inner === "string" ? parseJson(inner) : undefined;
  return { name, input: parsed?.ok === true ? parsed.value : inner };
}

/** The call in the form in which an author's code sees it: `call_tool` must not bypass a rule about a tool's name. */
export function unwrapCall(part: ToolCallPart, hasDeferredTools: boolean): ToolCallPart {
  const inner = hasDeferredTools && part.name === callToolName ? parseInnerCall(part.input as Json) : null;
  return inner === null ? part : { ...part, ...inner };
}

/**
 * What a person types as the answer to a tool.
 */
import { parseJson } from "../../core/index.js";
import type { Json, PendingApproval } from "../../index.js";

/** JSON if the text is some, unless the question wants a text; otherwise the text itself. */
export function parseToolReply(text: string, schema: PendingApproval["schema"]): Json {
  if (schema?.type === "string" && !/^\s*"/.test(text)) return text;
  const parsed = parseJson(text);
  return parsed.ok ? parsed.value : text;
}

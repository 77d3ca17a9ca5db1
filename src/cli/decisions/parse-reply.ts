/**
 * Parses a person's reply to a tool.
 */
import { parseJson } from "../../core/index.js";
import type { Json, PendingApproval } from "../../index.js";

/** Parses the text as JSON if it is valid JSON, unless the question asks for a string; otherwise returns the text. */
export function parseToolReply(text: string, schema: PendingApproval["schema"]): Json {
  if (schema?.type === "string" && !/^\s*"/.test(text)) return text;
  const parsed = parseJson(text);
  return parsed.ok ? parsed.value : text;
}

/**
 * Parses a person's reply to a tool.
 */
import { parseJson } from "../../core/index.js";
import type { Json, PendingApproval } from "../../index.js";
import { findReplyChoice, listReplyChoices } from "./reply-choices.js";

/**
 * Of the answers that the question lists, returns the one that the text names, by its words or its number. Otherwise parses the
 * text as JSON if it is valid JSON, unless the question asks for a string, and returns the text if it is not.
 */
export function parseToolReply(text: string, schema: PendingApproval["schema"]): Json {
  const choice = findReplyChoice(text, listReplyChoices(schema));
  if (choice !== undefined) return choice.value;
  if (schema?.type === "string" && !/^\s*"/.test(text)) return text;
  const parsed = parseJson(text);
  return parsed.ok ? parsed.value : text;
}

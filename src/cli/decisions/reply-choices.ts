/**
 * The answers that a question of a tool lists. People pick one by its number.
 */
import type { Json, PendingApproval } from "../../index.js";
import { sanitizeStrictly } from "../terminal/text.js";

export type ReplyChoice = {
  readonly value: Json;
  /** As the tool wrote it: it may have control characters and line breaks. */
  readonly label: string;
};

/** The choices with a key of their own: 1 to 9. */
export const maxChoiceKeys = 9;

/** The choices of a question; empty if it is answered in the person's own words. */
export function listReplyChoices(schema: PendingApproval["schema"]): readonly ReplyChoice[] {
  const values = schema?.enum;
  if (!Array.isArray(values) || values.some((value) => typeof value === "object")) return [];
  return values.map((value: Json) => ({ value, label: typeof value === "string" ? value : JSON.stringify(value) }));
}

/** The choices with their numbers, one on each line: a line break in one must not look like the beginning of another. */
export function formatReplyChoices(schema: PendingApproval["schema"]): readonly string[] {
  return listReplyChoices(schema).map(
    ({ label }, at) => `    ${at + 1} ${sanitizeStrictly(label.replaceAll("\n", " "))}`,
  );
}

/** The choice that a typed line names, by its words or by its number. Undefined if it names none. */
export function findReplyChoice(line: string, choices: readonly ReplyChoice[]): ReplyChoice | undefined {
  const typed = line.trim();
  const byLabel = choices.find(({ label }) => label === line || label.trim() === typed);
  return byLabel ?? (/^\d{1,5}$/.test(typed) ? choices[Number(typed) - 1] : undefined);
}

/**
 * A person's reply to a question of a tool. If the question lists answers, people pick one by its number.
 */

import { parseJson } from "../../core/index.js";
import type { Json, PendingApproval } from "../../index.js";
import { sanitizeStrictly } from "../terminal/text.js";

export type ReplyChoice = {
  readonly value: Json;
  /** As the tool wrote it: it may have control characters and line breaks. */
  readonly label: string;
};

/** The number of choices that have their own key: 1 to 9. */
export const maxChoiceKeys = 9;

/** The choices of a question; empty if it is answered in the person's own words. */
export function listReplyChoices(schema: PendingApproval["schema"]): readonly ReplyChoice[] {
  const values = schema?.enum;
  if (!Array.isArray(values) || values.some((value) => typeof value === "object")) return [];
  return values.map((value: Json) => ({ value, label: typeof value === "string" ? value : JSON.stringify(value) }));
}

/** Whether a choice can be picked by its position. Not if choices are numbers themselves: a person who types 2 means the answer 2. */
export function haveNumbers(choices: readonly ReplyChoice[]): boolean {
  return choices.every(({ label }, at) => {
    const text = label.trim();
    return !/^[+-]?\d+(?:[.,]\d+)*$/.test(text) || text === String(at + 1);
  });
}

/** The mark in front of a choice. */
export function formatChoiceMark(choices: readonly ReplyChoice[], at: number): string {
  return haveNumbers(choices) ? String(at + 1) : "-";
}

/** The choices with their numbers, one on each line: a line break in one must not look like the beginning of another. */
export function formatReplyChoices(schema: PendingApproval["schema"]): readonly string[] {
  const choices = listReplyChoices(schema);
  return choices.map(
    ({ label }, at) => `    ${formatChoiceMark(choices, at)} ${sanitizeStrictly(label.replaceAll("\n", " "))}`,
  );
}

/** The choice that a typed line names, by its words or, if the choices have numbers, by its number. Undefined if it names none. */
export function findReplyChoice(line: string, choices: readonly ReplyChoice[]): ReplyChoice | undefined {
  const typed = line.trim();
  const byLabel = choices.find(({ label }) => label === line || label.trim() === typed);
  return byLabel ?? (/^\d{1,5}$/.test(typed) && haveNumbers(choices) ? choices[Number(typed) - 1] : undefined);
}

/**
 * Parses a reply. If the text names one of the listed answers, by its words or its number, returns that answer. Otherwise parses the
 * text as JSON, unless the question asks for a string. Text that is not JSON is returned as it is.
 */
export function parseToolReply(text: string, schema: PendingApproval["schema"]): Json {
  const choice = findReplyChoice(text, listReplyChoices(schema));
  if (choice !== undefined) return choice.value;
  if (schema?.type === "string" && !/^\s*"/.test(text)) return text;
  const parsed = parseJson(text);
  return parsed.ok ? parsed.value : text;
}

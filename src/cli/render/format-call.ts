/**
 * Formats a tool call on one line, for questions, lists and progress.
 */
import { isObject } from "../../core/data/is-object.js";
import type { Json } from "../../index.js";
import { summarizeInput, toOneLine, truncate } from "../terminal/text.js";

/** A short title of a call: its command, or its path before other fields. */
export function formatCallTitle(name: string, input: Json, columns: number): string {
  const title = toOneLine(name);
  const remainingColumns = Math.max(10, columns - title.length - 1);
  if (!isObject(input)) return `${title} ${summarizeInput(input, remainingColumns)}`;
  const { command, path, oldText, newText, content, ...others } = input;
  if (typeof command === "string") return `${title} ${truncate(toOneLine(command), remainingColumns)}`;
  if (typeof path !== "string") return `${title} ${summarizeInput(input, remainingColumns)}`.trimEnd();
  const more = Object.keys(others).length === 0 ? "" : ` ${summarizeInput(others, remainingColumns)}`;
  return `${title} ${truncate(`${toOneLine(path)}${more}`, remainingColumns)}`;
}

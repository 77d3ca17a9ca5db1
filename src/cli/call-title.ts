/**
 * A tool call in one line, for questions, lists and progress.
 */
import type { Json } from "../index.js";
import { cut, oneLine, shortInput } from "./text.js";

/** A call in a few words: its command or its path before other fields. */
export function callTitle(name: string, input: Json, columns: number): string {
  const title = oneLine(name);
  const room = Math.max(10, columns - title.length - 1);
  if (typeof input !== "object" || input === null || Array.isArray(input)) return `${title} ${shortInput(input, room)}`;
  const { command, path, oldText, newText, content, ...others } = input as { readonly [key: string]: Json };
  if (typeof command === "string") return `${title} ${cut(oneLine(command), room)}`;
  if (typeof path !== "string") return `${title} ${shortInput(input, room)}`.trimEnd();
  const more = Object.keys(others).length === 0 ? "" : ` ${shortInput(others, room)}`;
  return `${title} ${cut(`${oneLine(path)}${more}`, room)}`;
}

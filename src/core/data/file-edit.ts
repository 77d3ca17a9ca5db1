/**
 * Recognizes the input of a file-editing tool: an input with a string to find and its replacement.
 */
import { isObject } from "./is-object.js";
import type { Json } from "./message.js";

/** An edit of a file, as the input of a call describes it. */
export type FileEdit = {
  /** The text to replace. */
  readonly before: string;
  /** The replacement. */
  readonly after: string;
  /** The names of the two fields. */
  readonly fields: readonly [before: string, after: string];
  /** Whether every occurrence is replaced. Otherwise the text must occur once. */
  readonly all: boolean;
};

/** The field names used by the tools of Pawl, of other programs and of model providers. */
const fieldPairs = [
  ["oldText", "newText"],
  ["old_text", "new_text"],
  ["old_string", "new_string"],
  ["old_str", "new_str"],
] as const;

/** The edit that a tool's input describes; null if it describes none. */
export function fileEditIn(input: Json): FileEdit | null {
  if (!isObject(input)) return null;
  for (const [oldField, newField] of fieldPairs) {
    const [before, after] = [input[oldField], input[newField]];
    if (typeof before === "string" && typeof after === "string")
      return {
        before,
        after,
        fields: Object.freeze([oldField, newField] as const),
        all: input.replaceAll === true || input.replace_all === true,
      };
  }
  return null;
}

/**
 * Renders the call that a person approves, in full and with every hidden character visible. Exactly this input runs.
 */
import { isObject } from "../../../core/data/is-object.js";
import { fileEditIn } from "../../../core/index.js";
import type { Json } from "../../../index.js";
import { type Line, spanOf } from "../../screen/line.js";
import type { TextStyle } from "../../terminal/text-style.js";
import { diffInFile, diffTexts, renderExact } from "./change-lines.js";

function renderExactLine(lead: string, text: string, style?: TextStyle): Line {
  return [spanOf(lead, style), ...renderExact(text, style)];
}

/**
 * Renders the whole input of a call. A replacement is shown as the lines that it changes, with line numbers and context if the file
 * is known.
 * @param file the current text of the file that the call changes
 */
export function renderInput(input: Json, file: string | null = null): readonly Line[] {
  if (!isObject(input))
    return JSON.stringify(input, null, 2)
      .split("\n")
      .map((line) => renderExactLine("    ", line));
  const edit = fileEditIn(input);
  const fields = Object.entries(input).filter(([key]) => edit === null || !edit.fields.includes(key));
  const lines = fields.flatMap(([key, value]) => renderField(key, value));
  if (edit !== null) {
    const inFile = file === null ? null : diffInFile(file, edit);
    lines.push(...(inFile ?? diffTexts(edit.before, edit.after)).lines);
  }
  return lines.length === 0 ? [renderExactLine("    ", "(no input)")] : lines;
}

function renderField(key: string, value: Json): Line[] {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  if (!text.includes("\n")) return [[spanOf("    "), ...renderExact(`${key}: `, "dim"), ...renderExact(text)]];
  return [
    renderExactLine("    ", `${key}:`, "dim"),
    ...text.split("\n").map((line) => renderExactLine("      | ", line)),
  ];
}

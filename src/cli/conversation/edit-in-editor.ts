/**
 * The person's editor in a conversation: for the draft, and for a call that is asked about.
 *
 * 1. The text that a call writes to a file is opened as itself, under the file's name. Any other input is opened as JSON.
 * 2. The name of the file goes to a shell, with the editor's command line. So no letter of it means anything there.
 */
import { basename } from "node:path";
import { fileEditIn, parseJson } from "../../core/index.js";
import type { Json } from "../../index.js";
import { editorOf, editText } from "../editor.js";
import { type Line, lineOf } from "../screen/line.js";
import { type Answered, type Answering, answerKeys } from "./answering.js";
import { changesBetween } from "./change-lines.js";
import { inputLines } from "./exact-lines.js";
import type { OpenQuestion } from "./questions.js";

/** Opens a text in the editor. What the person has written is given to `done`; nothing is if they gave up. */
export type Editing = (text: string, name: string, done: (text: string) => void) => void;

/** @param lend gives the terminal away while the editor runs */
export function createEditing(
  lend: (use: () => Promise<void>) => Promise<void>,
  say: (text: string) => void,
  environment = process.env,
): Editing {
  return (text, name, done) => {
    const editor = editorOf(environment);
    if (editor === undefined) return say("Set VISUAL or EDITOR to the command of your editor.");
    lend(async () => {
      const edited = await editText(editor, text, name);
      if (edited !== null) done(edited.replace(/\n$/, ""));
    }).catch((error) => say(`The editor could not be used: ${error instanceof Error ? error.message : error}`));
  };
}

/** A call as a text for the editor, and what the edited text leads to. */
export type CallText = { readonly name: string; readonly text: string; readonly read: (text: string) => Answered };

/** @returns null if the question is not about an input that the person may change */
export function callText(answering: Answering, question: OpenQuestion): CallText | null {
  if (answering.mode !== "choose" || !answerKeys(question).some(({ key }) => key === "e")) return null;
  const input = answering.edited ?? question.input;
  const read = (changed: Json): Answered =>
    JSON.stringify(changed) === JSON.stringify(input)
      ? { type: "problem", message: "The call is as it was." }
      : { type: "edited", input: changed };
  const field = fileField(input);
  if (field !== null)
    return { ...field, read: (text) => read({ ...(input as { readonly [key: string]: Json }), [field.key]: text }) };
  return {
    name: "call.json",
    text: JSON.stringify(input, null, 2),
    read(text) {
      const parsed = parseJson(text);
      if (!parsed.ok) return { type: "problem", message: "That is no JSON, so the call is as it was." };
      return read(parsed.value);
    },
  };
}

type FileField = { readonly key: string; readonly name: string; readonly text: string };

/** The text that a call writes to a file: the new text of an edit, or the whole content. */
function fileField(input: Json): FileField | null {
  if (typeof input !== "object" || input === null || Array.isArray(input)) return null;
  const fields = input as { readonly [key: string]: Json };
  const key = fileEditIn(input)?.fields[1] ?? "content";
  const text = fields[key];
  if (typeof fields.path !== "string" || typeof text !== "string") return null;
  return { key, text, name: harmless(basename(fields.path)) };
}

/** Letters of file names that mean nothing to any shell. */
function harmless(name: string): string {
  return name.replace(/[^A-Za-z0-9._-]/g, "_").slice(-80) || "file";
}

/** The call as the person has changed it: whole, and what differs in the text that it writes. */
export function editedLines(question: OpenQuestion, input: Json, file: string | null): readonly Line[] {
  const [before, after] = [fileField(question.input), fileField(input)];
  const isContent = before !== null && after !== null && fileEditIn(input) === null && before.text !== after.text;
  return [
    lineOf(`  ${question.name}, as you changed it:`, "yellow"),
    ...inputLines(input, file),
    ...(isContent
      ? [lineOf("  what you changed in it:", "yellow"), ...changesBetween(before.text, after.text).lines]
      : []),
  ];
}

/**
 * Opens the person's editor in a conversation: for the draft, and for a call that waits for an answer.
 *
 * 1. Text that a call writes to a file is opened directly, under the file's name. Any other input is opened as JSON.
 * 2. The file's name is part of the editor's command line, which a shell runs. So it contains only characters without a special meaning.
 */

import { basename } from "node:path";
import { getErrorMessage } from "../../../core/data/error-message.js";
import { isObject } from "../../../core/data/is-object.js";
import { fileEditIn, parseJson } from "../../../core/index.js";
import type { Json } from "../../../index.js";
import { type Line, lineOf } from "../../screen/line.js";
import { editText, findEditor } from "../../terminal/editor.js";
import { diffTexts } from "../lines/change-lines.js";
import { renderInput } from "../lines/exact-lines.js";
import type { OpenQuestion } from "../view/questions.js";
import { type AnswerResult, type AnswerState, listAnswerKeys } from "./answering.js";

/** Opens text in the editor. `done` receives the edited text, and is not called if the person cancels. */
export type EditText = (text: string, name: string, done: (text: string) => void) => void;

/** @param lendTerminal hands the terminal over while the editor runs */
export function createEditorAction(
  lendTerminal: (use: () => Promise<void>) => Promise<void>,
  say: (text: string) => void,
  environment = process.env,
): EditText {
  return (text, name, done) => {
    const editor = findEditor(environment);
    if (editor === undefined) return say("Set VISUAL or EDITOR to the command of your editor.");
    lendTerminal(async () => {
      const edited = await editText(editor, text, name);
      if (edited !== null) done(edited.replace(/\n$/, ""));
    }).catch((error) => say(`The editor could not be used: ${getErrorMessage(error)}`));
  };
}

/** A call as a text for the editor, and the effect of the edited text. */
export type EditableCall = {
  readonly name: string;
  readonly text: string;
  readonly read: (text: string) => AnswerResult;
};

/** @returns null if the person cannot edit the input of this question */
export function toEditableCall(answering: AnswerState, question: OpenQuestion): EditableCall | null {
  if (answering.mode !== "choose" || !listAnswerKeys(question, answering).some(({ key }) => key === "e")) return null;
  const input = answering.edited ?? question.input;
  const read = (changed: Json): AnswerResult =>
    JSON.stringify(changed) === JSON.stringify(input)
      ? { type: "problem", message: "The call is unchanged." }
      : { type: "edited", input: changed };
  const field = findFileField(input);
  if (field !== null)
    return { ...field, read: (text) => read({ ...(input as { readonly [key: string]: Json }), [field.key]: text }) };
  return {
    name: "call.json",
    text: JSON.stringify(input, null, 2),
    read(text) {
      const parsed = parseJson(text);
      if (!parsed.ok) return { type: "problem", message: "That is not valid JSON, so the call is unchanged." };
      return read(parsed.value);
    },
  };
}

type FileField = { readonly key: string; readonly name: string; readonly text: string };

/** The text that a call writes to a file: the new text of an edit, or the whole content. */
function findFileField(input: Json): FileField | null {
  if (!isObject(input)) return null;
  const key = fileEditIn(input)?.fields[1] ?? "content";
  const text = input[key];
  if (typeof input.path !== "string" || typeof text !== "string") return null;
  return { key, text, name: toShellSafeName(basename(input.path)) };
}

/** Replaces the characters of a file name that could mean something to a shell. */
function toShellSafeName(name: string): string {
  return name.replace(/[^A-Za-z0-9._-]/g, "_").slice(-80) || "file";
}

/** Renders the edited call in full, and the differences in the text that it writes. */
export function renderEditedCall(question: OpenQuestion, input: Json, file: string | null): readonly Line[] {
  const [before, after] = [findFileField(question.input), findFileField(input)];
  const isContent = before !== null && after !== null && fileEditIn(input) === null && before.text !== after.text;
  return [
    lineOf(`  ${question.name}, as you changed it:`, "yellow"),
    ...renderInput(input, file),
    ...(isContent ? [lineOf("  what you changed in it:", "yellow"), ...diffTexts(before.text, after.text).lines] : []),
  ];
}

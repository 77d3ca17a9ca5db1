/**
 * The text of `/keys`.
 */
import { type Line, lineOf, spanOf } from "../../screen/line.js";
import { wrapNote } from "../lines/view-lines.js";

const keyDescriptions: readonly (readonly [string, string])[] = [
  ["Enter", "sends; while pawl works: the model gets it before its next call"],
  ["Tab", "completes a command, an @path or an @server:uri; while pawl works: the draft becomes the next run"],
  ["Shift+Enter, Alt+Enter, Ctrl-J, \\ and Enter", "a new line"],
  [
    "Esc",
    "stops the current work, and Enter then makes the draft the next run; at a question, twice: stops the run; at rest, twice: choose an earlier message to fork from",
  ],
  ["Ctrl-C", "clears the draft, or stops the current work; twice: leaves"],
  ["Ctrl-D", "leaves, if the draft is empty"],
  ["y n r e a ?, 1 to 9", "answer a question, if the draft is empty; Tab goes to the question and back"],
  ["↑ ↓, Ctrl-P Ctrl-N", "move in the draft, then through earlier messages; always through earlier messages"],
  ["Ctrl-A E, Alt-B F", "start and end of the line; a word back and forward"],
  ["Ctrl-K U W, Alt-D, Ctrl-Y, Ctrl-_", "cut to the end, to the start, a word; put back; undo"],
  ["Ctrl-R", "searches earlier messages by words; Ctrl-R again: the next older match"],
  ["Ctrl-G", "the draft in $VISUAL or $EDITOR; at a question: the call, which is shown and asked about again"],
  ["Ctrl-O", "the whole output of the last call, in $PAGER"],
  ["Ctrl-T", "the model's plan"],
  [
    "Shift+Tab",
    "file edits in the folder run without asking, in this session; again: nothing changes until you accept a plan; again: edits ask",
  ],
  ["Alt-↑", "takes the last queued message back"],
  ["Ctrl-L", "redraws the screen"],
  ["Ctrl-Z", "suspends pawl, if nothing is running"],
];

export function renderKeyHelp(columns: number): readonly Line[] {
  return keyDescriptions.flatMap(([keys, about]): readonly Line[] => [
    lineOf(keys, "bold"),
    ...wrapNote(about, columns - 4).map((line): Line => [spanOf("    "), ...line]),
  ]);
}

/** The keys that run commands. */
export const commandKeys: { readonly [key: string]: string | undefined } = {
  "ctrl-o": "/output",
  "ctrl-t": "/todo",
  "shift-tab": "/mode next",
};

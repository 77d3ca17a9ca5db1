/**
 * The effects of keys on the draft. Keys with another meaning in a conversation (Enter, Tab, Esc, Ctrl-C, Ctrl-D) are not
 * handled here.
 */

import type { Draft } from "./draft.js";
import * as edit from "./draft.js";
import { moveRow } from "./draft-rows.js";
import type { Key } from "./keys.js";

export type PromptLayout = { readonly prompt: string; readonly columns: number };

type DraftChange = (draft: Draft, layout: PromptLayout) => Draft;

const newLine: DraftChange = (draft) => edit.insert(draft, "\n");
const startOfLine: DraftChange = (draft) => edit.move(draft, "back", "line");
const endOfLine: DraftChange = (draft) => edit.move(draft, "on", "line");
const up: DraftChange = (draft, { prompt, columns }) =>
  moveRow(draft, "up", prompt, columns) ?? edit.recall(draft, "back");
const down: DraftChange = (draft, { prompt, columns }) =>
  moveRow(draft, "down", prompt, columns) ?? edit.recall(draft, "on");

/** Keyed by modifiers and name. */
const changeByKey: { readonly [key: string]: DraftChange | undefined } = {
  "shift-enter": newLine,
  "alt-enter": newLine,
  "ctrl-j": newLine,
  left: (draft) => edit.move(draft, "back", "character"),
  "ctrl-b": (draft) => edit.move(draft, "back", "character"),
  right: (draft) => edit.move(draft, "on", "character"),
  "ctrl-f": (draft) => edit.move(draft, "on", "character"),
  "ctrl-left": (draft) => edit.move(draft, "back", "word"),
  "alt-left": (draft) => edit.move(draft, "back", "word"),
  "alt-b": (draft) => edit.move(draft, "back", "word"),
  "ctrl-right": (draft) => edit.move(draft, "on", "word"),
  "alt-right": (draft) => edit.move(draft, "on", "word"),
  "alt-f": (draft) => edit.move(draft, "on", "word"),
  home: startOfLine,
  "ctrl-a": startOfLine,
  end: endOfLine,
  "ctrl-e": endOfLine,
  up,
  down,
  "ctrl-p": (draft) => edit.recall(draft, "back"),
  "ctrl-n": (draft) => edit.recall(draft, "on"),
  backspace: (draft) => edit.remove(draft, "back", "character"),
  "shift-backspace": (draft) => edit.remove(draft, "back", "character"),
  delete: (draft) => edit.remove(draft, "on", "character"),
  "alt-backspace": (draft) => edit.remove(draft, "back", "word"),
  "ctrl-w": (draft) => edit.remove(draft, "back", "word"),
  "alt-d": (draft) => edit.remove(draft, "on", "word"),
  "ctrl-u": (draft) => edit.remove(draft, "back", "line"),
  "ctrl-k": (draft) => edit.remove(draft, "on", "line"),
  "ctrl-y": edit.yank,
  "ctrl-_": edit.undo,
};

/** The name of a key with its modifiers: `ctrl-a`, `alt-enter`, `up`. */
export function formatKey(key: Extract<Key, { type: "key" }>): string {
  return `${key.ctrl ? "ctrl-" : ""}${key.alt ? "alt-" : ""}${key.shift ? "shift-" : ""}${key.name}`;
}

/** Applies a key to the draft; null if the key has no effect on it. */
export function applyKey(draft: Draft, key: Key, layout: PromptLayout): Draft | null {
  switch (key.type) {
    case "text":
      return edit.insert(draft, key.text);
    case "paste":
      return edit.paste(draft, key.text);
    case "key":
      return changeByKey[formatKey(key)]?.(draft, layout) ?? null;
  }
}

/** Replaces a `\` before the cursor with a new line; null if there is none. */
export function continueLine(draft: Draft): Draft | null {
  if (draft.text[draft.cursor - 1] !== "\\") return null;
  return edit.insert(edit.remove(draft, "back", "character"), "\n");
}

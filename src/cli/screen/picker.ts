/**
 * A list to choose from: words narrow it, arrows move in it.
 */
import { type Draft, emptyDraft, isEmpty } from "./draft.js";
import { pressed } from "./draft-keys.js";
import { draftRows } from "./draft-rows.js";
import type { Key } from "./keys.js";
import { type Line, lineOf, spanOf } from "./line.js";
import type { Region } from "./screen.js";

export type Choice = { readonly id: string; readonly text: string };

export type Picker = {
  readonly title: string;
  readonly choices: readonly Choice[];
  readonly words: Draft;
  readonly at: number;
};

export type Picked =
  | { readonly type: "open"; readonly picker: Picker }
  | { readonly type: "chosen"; readonly id: string }
  | { readonly type: "left" };

export function createPicker(title: string, choices: readonly Choice[]): Picker {
  return { title, choices, words: emptyDraft, at: 0 };
}

/** The choices that have every word. */
export function matching({ choices, words }: Picker): readonly Choice[] {
  const wanted = words.text.toLowerCase().split(/\s+/);
  return choices.filter(({ text }) => wanted.every((word) => text.toLowerCase().includes(word)));
}

export function pressPicker(picker: Picker, key: Key): Picked {
  const found = matching(picker);
  if (key.type === "key") {
    if (key.name === "escape" || (key.ctrl && (key.name === "c" || key.name === "d"))) return { type: "left" };
    if (key.name === "enter") {
      const chosen = found[picker.at];
      return chosen === undefined ? { type: "open", picker } : { type: "chosen", id: chosen.id };
    }
    const step =
      key.name === "up" || (key.ctrl && key.name === "p")
        ? -1
        : key.name === "down" || (key.ctrl && (key.name === "n" || key.name === "r"))
          ? 1
          : 0;
    if (step !== 0) {
      const at = Math.min(Math.max(0, picker.at + step), Math.max(0, found.length - 1));
      return { type: "open", picker: { ...picker, at } };
    }
  }
  const words = pressed(picker.words, key, { prompt: `${picker.title} › `, columns: 80 });
  return { type: "open", picker: words === null ? picker : { ...picker, words, at: 0 } };
}

/** Columns below which the keys stand without words. */
const narrow = 60;

/** The picker as rows, at most `most`. */
export function pickerRows(picker: Picker, columns: number, most: number): Region {
  const found = matching(picker);
  const input = draftRows(picker.words, `${picker.title} › `, columns, 1);
  const room = Math.max(1, most - 2);
  const first = Math.max(0, picker.at - room + 1);
  const rows: Line[] = found.slice(first, first + room).map(({ text }, index) => {
    const isChosen = first + index === picker.at;
    return [spanOf(isChosen ? "› " : "  ", "cyan"), spanOf(text, isChosen ? "bold" : undefined)];
  });
  if (rows.length === 0) rows.push(lineOf(isEmpty(picker.words) ? "  (nothing)" : "  nothing has these words", "dim"));
  const hidden = found.length - room;
  const more = hidden > 0 ? ` · ${hidden} more` : "";
  const keys = columns < narrow ? "enter · ↑ ↓ · esc" : "enter open · ↑ ↓ choose · esc back";
  return {
    rows: [...input.rows, ...rows, lineOf(`${keys}${more}`, "dim")],
    cursor: input.cursor,
  };
}

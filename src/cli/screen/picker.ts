/**
 * A list to choose from: typed words filter it, and arrow keys move through it.
 */
import { type Draft, emptyDraft, isEmpty } from "./draft.js";
import { applyKey } from "./draft-keys.js";
import { renderDraft } from "./draft-rows.js";
import type { Key } from "./keys.js";
import { type Line, lineOf, spanOf } from "./line.js";
import type { Region } from "./screen.js";

export type Choice = {
  readonly id: string;
  readonly text: string;
  /** The key that chooses it while no word is typed. The text shows this key. */
  readonly key?: string;
};

export type Picker = {
  readonly title: string;
  readonly choices: readonly Choice[];
  readonly words: Draft;
  readonly at: number;
};

export type PickerResult =
  | { readonly type: "open"; readonly picker: Picker }
  | { readonly type: "chosen"; readonly id: string }
  | { readonly type: "left" };

export function createPicker(title: string, choices: readonly Choice[]): Picker {
  return { title, choices, words: emptyDraft, at: 0 };
}

/** The choices that contain every word. */
export function filterChoices({ choices, words }: Picker): readonly Choice[] {
  const queryWords = words.text.toLowerCase().split(/\s+/);
  return choices.filter(({ text }) => queryWords.every((word) => text.toLowerCase().includes(word)));
}

export function pressPicker(picker: Picker, key: Key): PickerResult {
  const matches = filterChoices(picker);
  if (key.type === "key") {
    if (key.name === "escape" || (key.ctrl && (key.name === "c" || key.name === "d"))) return { type: "left" };
    if (key.name === "enter") {
      const chosen = matches[picker.at];
      return chosen === undefined ? { type: "open", picker } : { type: "chosen", id: chosen.id };
    }
    const offset =
      key.name === "up" || (key.ctrl && key.name === "p")
        ? -1
        : key.name === "down" || (key.ctrl && (key.name === "n" || key.name === "r"))
          ? 1
          : 0;
    if (offset !== 0) {
      const at = Math.min(Math.max(0, picker.at + offset), Math.max(0, matches.length - 1));
      return { type: "open", picker: { ...picker, at } };
    }
  }
  const byKey =
    key.type === "text" && isEmpty(picker.words) ? picker.choices.find((choice) => choice.key === key.text) : undefined;
  if (byKey !== undefined) return { type: "chosen", id: byKey.id };
  const words = applyKey(picker.words, key, { prompt: `${picker.title} › `, columns: 80 });
  return { type: "open", picker: words === null ? picker : { ...picker, words, at: 0 } };
}

/** With fewer columns, the hint shows the keys without words. */
const narrowColumns = 60;

/** The picker as rows, at most `maxRows`. */
export function renderPicker(picker: Picker, columns: number, maxRows: number): Region {
  const matches = filterChoices(picker);
  const input = renderDraft(picker.words, `${picker.title} › `, columns, 1);
  const visibleCount = Math.max(1, maxRows - 2);
  const first = Math.max(0, picker.at - visibleCount + 1);
  const rows: Line[] = matches.slice(first, first + visibleCount).map(({ text }, index) => {
    const isChosen = first + index === picker.at;
    return [spanOf(isChosen ? "› " : "  ", "cyan"), spanOf(text, isChosen ? "bold" : undefined)];
  });
  if (rows.length === 0) rows.push(lineOf(isEmpty(picker.words) ? "  (nothing)" : "  no match", "dim"));
  const hidden = matches.length - visibleCount;
  const more = hidden > 0 ? ` · ${hidden} more` : "";
  const keys = columns < narrowColumns ? "enter · ↑ ↓ · esc" : "enter choose · ↑ ↓ move · esc back";
  return {
    rows: [...input.rows, ...rows, lineOf(`${keys}${more}`, "dim")],
    cursor: input.cursor,
  };
}

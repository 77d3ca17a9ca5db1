/**
 * The draft as rows of the screen, and moving the cursor between rows.
 */
import { widthOf } from "../text.js";
import { type Draft, shownText } from "./draft.js";
import { graphemes, type Line, spanOf } from "./line.js";

export type DraftRows = {
  readonly rows: readonly Line[];
  readonly cursor: { readonly row: number; readonly before: Line };
};

/** A row: where it begins and ends in the draft's text. */
type Row = { readonly start: number; readonly end: number };

const indent = "  ";

/** Breaks the draft into rows of at most this many columns. */
function rowsOf({ text, pastes }: Draft, columns: number): readonly Row[] {
  const rows: Row[] = [];
  let [start, at, width] = [0, 0, 0];
  for (const character of graphemes(text)) {
    const own = character === "\n" ? 0 : widthOf(shownText(character, pastes));
    if (width + own > columns && at > start) {
      rows.push({ start, end: at });
      [start, width] = [at, 0];
    }
    at += character.length;
    width += own;
    if (character.endsWith("\n")) {
      rows.push({ start, end: at - 1 });
      [start, width] = [at, 0];
    }
  }
  rows.push({ start, end: at });
  return rows;
}

function rowAt(rows: readonly Row[], cursor: number): number {
  const found = rows.findLastIndex(({ start }) => start <= cursor);
  return Math.max(0, found);
}

/** The rows around the cursor, at most `most`, with the prompt in front of the first one. */
export function draftRows(draft: Draft, prompt: string, columns: number, most: number): DraftRows {
  const width = Math.max(1, columns - widthOf(prompt) - 1);
  const rows = rowsOf(draft, width);
  const row = rowAt(rows, draft.cursor);
  const first = Math.max(0, Math.min(row - most + 1, rows.length - most), Math.min(row, rows.length - most));
  const shown = rows.slice(first, first + most);
  const lead = (at: number) => spanOf(at === 0 ? prompt : indent.padEnd(prompt.length), "cyan");
  const textOf = (from: number, to: number) => spanOf(shownText(draft.text.slice(from, to), draft.pastes));
  const start = rows[row]?.start ?? 0;
  return {
    rows: shown.map(({ start, end }, at) => [lead(first + at), textOf(start, end)]),
    cursor: { row: row - first, before: [lead(row), textOf(start, draft.cursor)] },
  };
}

/** The draft with the cursor in the row above or below; null if there is none. */
export function moveRow(draft: Draft, way: "up" | "down", prompt: string, columns: number): Draft | null {
  const rows = rowsOf(draft, Math.max(1, columns - widthOf(prompt) - 1));
  const at = rowAt(rows, draft.cursor);
  const [from, to] = [rows[at], rows[at + (way === "up" ? -1 : 1)]];
  if (from === undefined || to === undefined) return null;
  const wanted = widthOf(shownText(draft.text.slice(from.start, draft.cursor), draft.pastes));
  let [cursor, width] = [to.start, 0];
  for (const character of graphemes(draft.text.slice(to.start, to.end))) {
    width += widthOf(shownText(character, draft.pastes));
    if (width > wanted) break;
    cursor += character.length;
  }
  return { ...draft, cursor };
}

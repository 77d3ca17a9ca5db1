/**
 * Renders the draft as rows of the screen, and moves the cursor between rows.
 */
import { widthOf } from "../terminal/text.js";
import { type Draft, formatText } from "./draft.js";
import { type Line, spanOf, splitGraphemes } from "./line.js";

export type DraftRows = {
  readonly rows: readonly Line[];
  readonly cursor: { readonly row: number; readonly before: Line };
};

/** A row, as offsets into the draft's text. */
type Row = { readonly start: number; readonly end: number };

const indent = "  ";

/** Breaks the draft into rows that are at most `columns` wide. */
function breakIntoRows({ text, pastes }: Draft, columns: number): readonly Row[] {
  const rows: Row[] = [];
  let [start, at, width] = [0, 0, 0];
  for (const character of splitGraphemes(text)) {
    const characterWidth = character === "\n" ? 0 : widthOf(formatText(character, pastes));
    if (width + characterWidth > columns && at > start) {
      rows.push({ start, end: at });
      [start, width] = [at, 0];
    }
    at += character.length;
    width += characterWidth;
    if (character.endsWith("\n")) {
      rows.push({ start, end: at - 1 });
      [start, width] = [at, 0];
    }
  }
  rows.push({ start, end: at });
  return rows;
}

function findRow(rows: readonly Row[], cursor: number): number {
  const rowIndex = rows.findLastIndex(({ start }) => start <= cursor);
  return Math.max(0, rowIndex);
}

/** The rows around the cursor, at most `maxRows`, with the prompt in front of the first one. */
export function renderDraft(draft: Draft, prompt: string, columns: number, maxRows: number): DraftRows {
  const width = Math.max(1, columns - widthOf(prompt) - 1);
  const rows = breakIntoRows(draft, width);
  const row = findRow(rows, draft.cursor);
  const first = Math.max(0, Math.min(row - maxRows + 1, rows.length - maxRows), Math.min(row, rows.length - maxRows));
  const visibleRows = rows.slice(first, first + maxRows);
  const renderPrefix = (at: number) => spanOf(at === 0 ? prompt : indent.padEnd(prompt.length), "cyan");
  const renderText = (from: number, to: number) => spanOf(formatText(draft.text.slice(from, to), draft.pastes));
  const start = rows[row]?.start ?? 0;
  return {
    rows: visibleRows.map(({ start, end }, at) => [renderPrefix(first + at), renderText(start, end)]),
    cursor: { row: row - first, before: [renderPrefix(row), renderText(start, draft.cursor)] },
  };
}

/** Moves the cursor to the row above or below; null if there is none. */
export function moveRow(draft: Draft, direction: "up" | "down", prompt: string, columns: number): Draft | null {
  const rows = breakIntoRows(draft, Math.max(1, columns - widthOf(prompt) - 1));
  const at = findRow(rows, draft.cursor);
  const [from, to] = [rows[at], rows[at + (direction === "up" ? -1 : 1)]];
  if (from === undefined || to === undefined) return null;
  const targetWidth = widthOf(formatText(draft.text.slice(from.start, draft.cursor), draft.pastes));
  let [cursor, width] = [to.start, 0];
  for (const character of splitGraphemes(draft.text.slice(to.start, to.end))) {
    width += widthOf(formatText(character, draft.pastes));
    if (width > targetWidth) break;
    cursor += character.length;
  }
  return { ...draft, cursor };
}

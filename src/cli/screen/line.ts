/**
 * Text for the screen, as data: lines of styled spans.
 *
 * Only `paint` and `toPlainText` produce strings for the terminal, and they pass every span through `toPrintable`. So text from
 * models, tools and files can never control the terminal.
 */
import { isPlainText, sanitize, segmentText, widthOf } from "../terminal/text.js";
import type { StyleText, TextStyle } from "../terminal/text-style.js";

export type Span = { readonly text: string; readonly style?: TextStyle };

/** One line. A line of the history may be longer than the terminal is wide: the terminal wraps it. */
export type Line = readonly Span[];

export function lineOf(text: string, style?: TextStyle): Line {
  return [spanOf(text, style)];
}

export function spanOf(text: string, style?: TextStyle): Span {
  return style === undefined ? { text } : { text, style };
}

/** Splits text into lines. */
export function linesOf(text: string, style?: TextStyle): readonly Line[] {
  return text.split(/\r?\n/).map((line) => lineOf(line, style));
}

/** Puts text on one line, without control sequences that a terminal would obey. */
export function toPrintable(text: string): string {
  return isPlainText(text) ? text : sanitize(text.replaceAll("\t", "    ").replaceAll("\n", " "));
}

export function paint(line: Line, style: StyleText): string {
  return line
    .map(({ text, style: name }) => (name === undefined ? toPrintable(text) : style(name, toPrintable(text))))
    .join("");
}

export function toPlainText(line: Line): string {
  return line.map(({ text }) => toPrintable(text)).join("");
}

export function measureLine(line: Line): number {
  return line.reduce((width, { text }) => width + widthOf(toPrintable(text)), 0);
}

/** Truncates a line to this many columns. A truncated line ends with `…`. */
export function truncateLine(line: Line, columns: number): Line {
  const spans: Span[] = [];
  let width = 0;
  for (const span of line) {
    const text = toPrintable(span.text.slice(0, columns * maxUnitsOfColumn));
    const ownWidth = widthOf(text);
    if (width + ownWidth > columns) {
      const pieces = splitAtColumn(text, Math.max(0, columns - width - 1));
      return [...spans, { ...span, text: `${pieces[0]}…` }];
    }
    spans.push({ ...span, text });
    width += ownWidth;
  }
  return spans;
}

/** UTF-16 units per column: longer text cannot fit, whatever its characters are. */
const maxUnitsOfColumn = 40;

/** Node 20's segmenter takes quadratic time, so longer text is split into pieces. */
const maxSegmentedLength = 240;

/** The grapheme clusters of the text. At a seam between two pieces, a cluster may be split in two. */
export function* splitGraphemes(text: string): Generator<string> {
  for (let start = 0; start < text.length; ) {
    let end = Math.min(text.length, start + maxSegmentedLength);
    if (end < text.length && /[\ud800-\udbff]/.test(text[end - 1] ?? "")) end += 1;
    for (const { segment } of segmentText(text.slice(start, end))) yield segment;
    start = end;
  }
}

/** Splits text into the part that fits in `columns`, and the rest. */
export function splitAtColumn(text: string, columns: number): readonly [string, string] {
  let [end, width] = [0, 0];
  for (const character of splitGraphemes(text)) {
    width += widthOf(character);
    if (width > columns) return [text.slice(0, end), text.slice(end)];
    end += character.length;
  }
  return [text, ""];
}

/** Wraps a line between words. A word that is wider than `columns` is broken. */
export function wrapLine(line: Line, columns: number): readonly Line[] {
  const state: WrapState = { columns, rows: [], row: [], width: 0, space: "" };
  let word: Span[] = [];
  for (const span of line) {
    const text = toPrintable(span.text);
    for (let at = 0; at < text.length; ) {
      const isSpace = text[at] === " ";
      const end = isSpace ? findSpacesEnd(text, at) : findWordEnd(text, at);
      const piece = text.slice(at, end);
      if (!isSpace) word.push(spanOf(piece, span.style));
      else {
        placeWord(state, word);
        word = [];
        state.space += piece;
      }
      at = end;
    }
  }
  placeWord(state, word);
  state.rows.push(state.row);
  return state.rows;
}

type WrapState = {
  readonly columns: number;
  readonly rows: Line[];
  row: Span[];
  width: number;
  /** The blanks before the next word, if it fits into the same row. */
  space: string;
};

function findSpacesEnd(text: string, from: number): number {
  let end = from + 1;
  while (text[end] === " ") end += 1;
  return end;
}

function findWordEnd(text: string, from: number): number {
  const end = text.indexOf(" ", from);
  return end < 0 ? text.length : end;
}

/** Appends a word to the row, or begins the next one. */
function placeWord(state: WrapState, word: readonly Span[]): void {
  if (word.length === 0) return;
  const { columns, space } = state;
  let needed = 0;
  for (const { text } of word) needed += widthOf(text);
  if (state.width > 0 && state.width + space.length + needed > columns) endRow(state);
  else if (space !== "") appendText(state, space, space.length);
  state.space = "";
  const isWhole = state.width + needed <= columns;
  for (const { text, style } of word) {
    if (isWhole) appendText(state, text, widthOf(text), style);
    else
      for (const piece of breakWord(text, columns, columns - state.width)) {
        if (state.width > 0 && state.width + widthOf(piece) > columns) endRow(state);
        appendText(state, piece, widthOf(piece), style);
      }
  }
}

function endRow(state: WrapState): void {
  state.rows.push(state.row);
  [state.row, state.width, state.space] = [[], 0, ""];
}

/** Appends text to a row. Words with the same style share a span, because each span is expensive to paint. */
function appendText(state: WrapState, text: string, width: number, style?: TextStyle): void {
  const { row } = state;
  const last = row.at(-1);
  state.width += width;
  if (last !== undefined && last.style === style) row[row.length - 1] = spanOf(last.text + text, style);
  else row.push(spanOf(text, style));
}

/** Splits a word into pieces that fit: the first one into `first` columns, the others into `columns`. */
function* breakWord(text: string, columns: number, first: number): Generator<string> {
  if (widthOf(text) <= first) return yield text;
  let [piece, width, available] = ["", 0, first];
  for (const character of splitGraphemes(text)) {
    const ownWidth = widthOf(character);
    if (width + ownWidth > available && piece !== "") {
      yield piece;
      [piece, width, available] = ["", 0, columns];
    }
    piece += character;
    width += ownWidth;
  }
  if (piece !== "") yield piece;
}

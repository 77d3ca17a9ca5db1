/**
 * Text for the screen as data: lines of styled spans.
 *
 * Only `paint` makes text for the terminal, and every span passes through `visible` there. So no text of a model, a tool
 * or a file can control the terminal, wherever it is shown.
 */
import { isPlain, segmentsOf, visible, widthOf } from "../text.js";
import type { StyleText, TextStyle } from "../text-style.js";

export type Span = { readonly text: string; readonly style?: TextStyle };

/** One line. A line of the history may be longer than the terminal is wide: the terminal wraps it. */
export type Line = readonly Span[];

export function lineOf(text: string, style?: TextStyle): Line {
  return [spanOf(text, style)];
}

export function spanOf(text: string, style?: TextStyle): Span {
  return style === undefined ? { text } : { text, style };
}

/** The lines of a text. */
export function linesOf(text: string, style?: TextStyle): readonly Line[] {
  return text.split(/\r?\n/).map((line) => lineOf(line, style));
}

/** Text on one line, without anything that a terminal would obey. */
export function printable(text: string): string {
  return isPlain(text) ? text : visible(text.replaceAll("\t", "    ").replaceAll("\n", " "));
}

export function paint(line: Line, style: StyleText): string {
  return line
    .map(({ text, style: name }) => (name === undefined ? printable(text) : style(name, printable(text))))
    .join("");
}

export function plainText(line: Line): string {
  return line.map(({ text }) => printable(text)).join("");
}

export function widthOfLine(line: Line): number {
  return line.reduce((width, { text }) => width + widthOf(printable(text)), 0);
}

/** Cuts a line to this many columns. A line that was cut ends with `…`. */
export function cutLine(line: Line, columns: number): Line {
  const kept: Span[] = [];
  let width = 0;
  for (const span of line) {
    const text = printable(span.text.slice(0, columns * mostUnitsOfColumn));
    const own = widthOf(text);
    if (width + own > columns) {
      const pieces = cutAt(text, Math.max(0, columns - width - 1));
      return [...kept, { ...span, text: `${pieces[0]}…` }];
    }
    kept.push({ ...span, text });
    width += own;
  }
  return kept;
}

/** A longer text does not fit, whatever its characters are. */
const mostUnitsOfColumn = 40;

/** The segmenter of Node 20 takes quadratic time, so it gets a longer text in pieces. */
const segmentedAtOnce = 240;

/** The characters of a text as a person counts them. At a seam between two pieces, one character may count as two. */
export function* graphemes(text: string): Generator<string> {
  for (let start = 0; start < text.length; ) {
    let end = Math.min(text.length, start + segmentedAtOnce);
    if (end < text.length && /[\ud800-\udbff]/.test(text[end - 1] ?? "")) end += 1;
    for (const { segment } of segmentsOf(text.slice(start, end))) yield segment;
    start = end;
  }
}

/** Splits a text into the part that fits this many columns, and the rest. */
export function cutAt(text: string, columns: number): readonly [string, string] {
  let [end, width] = [0, 0];
  for (const character of graphemes(text)) {
    width += widthOf(character);
    if (width > columns) return [text.slice(0, end), text.slice(end)];
    end += character.length;
  }
  return [text, ""];
}

/** Wraps a line between words. A word that is wider than the line is broken. */
export function wrapLine(line: Line, columns: number): readonly Line[] {
  const wrapping: Wrapping = { columns, rows: [], row: [], width: 0, space: "" };
  let word: Span[] = [];
  for (const span of line) {
    const text = printable(span.text);
    for (let at = 0; at < text.length; ) {
      const isSpace = text[at] === " ";
      const end = isSpace ? endOfSpaces(text, at) : endOfWord(text, at);
      const piece = text.slice(at, end);
      if (!isSpace) word.push(spanOf(piece, span.style));
      else {
        place(wrapping, word);
        word = [];
        wrapping.space += piece;
      }
      at = end;
    }
  }
  place(wrapping, word);
  wrapping.rows.push(wrapping.row);
  return wrapping.rows;
}

type Wrapping = {
  readonly columns: number;
  readonly rows: Line[];
  row: Span[];
  width: number;
  /** What stands between the row and the next word, if that has its place in the same row. */
  space: string;
};

function endOfSpaces(text: string, from: number): number {
  let end = from + 1;
  while (text[end] === " ") end += 1;
  return end;
}

function endOfWord(text: string, from: number): number {
  const end = text.indexOf(" ", from);
  return end < 0 ? text.length : end;
}

/** Puts a word behind the row, or into the next one. */
function place(wrapping: Wrapping, word: readonly Span[]): void {
  if (word.length === 0) return;
  const { columns, space } = wrapping;
  let needed = 0;
  for (const { text } of word) needed += widthOf(text);
  if (wrapping.width > 0 && wrapping.width + space.length + needed > columns) endRow(wrapping);
  else if (space !== "") append(wrapping, space, space.length);
  wrapping.space = "";
  const isWhole = wrapping.width + needed <= columns;
  for (const { text, style } of word) {
    if (isWhole) append(wrapping, text, widthOf(text), style);
    else
      for (const piece of piecesOf(text, columns, columns - wrapping.width)) {
        if (wrapping.width > 0 && wrapping.width + widthOf(piece) > columns) endRow(wrapping);
        append(wrapping, piece, widthOf(piece), style);
      }
  }
}

function endRow(wrapping: Wrapping): void {
  wrapping.rows.push(wrapping.row);
  [wrapping.row, wrapping.width, wrapping.space] = [[], 0, ""];
}

/** Words of one style are one span: a line has few of them, and each costs when it is painted. */
function append(wrapping: Wrapping, text: string, width: number, style?: TextStyle): void {
  const { row } = wrapping;
  const last = row.at(-1);
  wrapping.width += width;
  if (last !== undefined && last.style === style) row[row.length - 1] = spanOf(last.text + text, style);
  else row.push(spanOf(text, style));
}

/** A word in pieces that fit: the first one into `first` columns, the others into `columns`. */
function* piecesOf(text: string, columns: number, first: number): Generator<string> {
  if (widthOf(text) <= first) return yield text;
  let [piece, width, most] = ["", 0, first];
  for (const character of graphemes(text)) {
    const own = widthOf(character);
    if (width + own > most && piece !== "") {
      yield piece;
      [piece, width, most] = ["", 0, columns];
    }
    piece += character;
    width += own;
  }
  if (piece !== "") yield piece;
}

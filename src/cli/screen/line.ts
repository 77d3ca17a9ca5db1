/**
 * Text for the screen as data: lines of styled spans.
 *
 * Only `paint` makes text for the terminal, and every span passes through `visible` there. So no text of a model, a tool
 * or a file can control the terminal, wherever it is shown.
 */
import { segmentsOf, visible, widthOf } from "../text.js";
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
  return visible(text.replaceAll("\t", "    ").replaceAll("\n", " "));
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
  const rows: Line[] = [];
  let row: Span[] = [];
  let width = 0;
  let space = "";
  const end = () => {
    rows.push(row);
    [row, width, space] = [[], 0, ""];
  };
  for (const word of wordsOf(line)) {
    if (word.type === "space") {
      space += word.text;
      continue;
    }
    const needed = word.spans.reduce((sum, { text }) => sum + widthOf(text), 0);
    if (width > 0 && width + space.length + needed > columns) end();
    else if (space !== "") {
      row.push({ text: space });
      width += space.length;
    }
    space = "";
    for (const span of word.spans)
      for (const piece of piecesOf(span.text, columns, columns - width)) {
        if (width > 0 && width + widthOf(piece) > columns) end();
        row.push({ ...span, text: piece });
        width += widthOf(piece);
      }
  }
  rows.push(row);
  return rows;
}

type Word =
  | { readonly type: "word"; readonly spans: readonly Span[] }
  | { readonly type: "space"; readonly text: string };

function* wordsOf(line: Line): Generator<Word> {
  let spans: Span[] = [];
  for (const span of line)
    for (const text of printable(span.text).split(/( +)/)) {
      if (text === "") continue;
      if (text.startsWith(" ")) {
        if (spans.length > 0) yield { type: "word", spans };
        spans = [];
        yield { type: "space", text };
      } else spans.push({ ...span, text });
    }
  if (spans.length > 0) yield { type: "word", spans };
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

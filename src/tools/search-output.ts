/**
 * Literal search in an output, which may be one line of megabytes. The cost is bounded by the output's length (SEC-15).
 */
import { bytesOfText, lineAt, startOfCharacter, textOfBytes } from "../core/data/text-bytes.js";

export type OutputSearch = {
  readonly output: number;
  readonly text: string;
  readonly ignoreCase?: boolean;
  readonly fromByte?: number;
  /** The most matches to show. */
  readonly limit: number;
  /** The most bytes to show. */
  readonly most: number;
};

/** The most characters of a line to show. Of a longer line, those around the match are shown. */
const widest = 300;

/** @throws Error if the text contains a line break */
export function findInOutput(bytes: Uint8Array, search: OutputSearch): string {
  if (/[\r\n]/.test(search.text))
    throw new Error("The text spans several lines, but each line is searched on its own. Give a part of one line.");
  const start = startOfCharacter(bytes, Math.min(search.fromByte ?? 0, bytes.length));
  const text = textOfBytes(start === 0 ? bytes : bytes.subarray(start));
  const pattern = new RegExp(literal(search.text), search.ignoreCase === true ? "giu" : "gu");
  const place: Position = { index: 0, byte: start, line: lineAt(bytes, start) };
  const shown: string[] = [];
  let room = search.most;
  let next: number | null = null;
  for (let found = pattern.exec(text); found !== null; found = pattern.exec(text)) {
    moveTo(place, text, found.index);
    const around = partAround(text, found.index, found[0].length);
    const line = `line ${place.line}${around.isLine ? "" : `, byte ${place.byte}`}: ${around.shown}`;
    room -= line.length * 3 + 1;
    if (shown.length === search.limit || room < 0) {
      next = place.byte;
      break;
    }
    shown.push(line);
    pattern.lastIndex = Math.max(around.end, found.index + found[0].length);
  }
  const wanted = JSON.stringify(search.text);
  if (shown.length === 0) return `(output ${search.output} has no ${wanted} from byte ${start} on)`;
  const more = next === null ? "no more" : `go on with fromByte ${next}`;
  const places = shown.length === 1 ? "1 place" : `${shown.length} places`;
  return `(output ${search.output}, ${places} with ${wanted}; ${more})\n${shown.join("\n")}`;
}

function literal(text: string): string {
  return text.replace(/[\^$\\.*+?()[\]{}|/]/g, "\\$&");
}

/** The position of the search: a character index in the searched text, and a byte and a line of the whole output. */
type Position = { index: number; byte: number; line: number };

function moveTo(place: Position, text: string, index: number): void {
  const passed = text.slice(place.index, index);
  for (let at = passed.indexOf("\n"); at !== -1; at = passed.indexOf("\n", at + 1)) place.line += 1;
  place.byte += bytesOfText(passed).length;
  place.index = index;
}

type Around = { readonly shown: string; readonly end: number; readonly isLine: boolean };

/** The line of a match or, if the line is long, the part around the match. */
function partAround(text: string, index: number, length: number): Around {
  const least = Math.max(0, index - widest);
  const before = text.slice(least, index).lastIndexOf("\n");
  const lineEnd = text.slice(index, index + widest).indexOf("\n");
  const start = before === -1 ? least : least + before + 1;
  const end = lineEnd === -1 ? Math.min(text.length, index + widest) : index + lineEnd;
  const isWhole = (before !== -1 || least === 0) && (lineEnd !== -1 || end === text.length);
  if (isWhole && end - start <= widest) return { shown: text.slice(start, end), end, isLine: true };
  const from = Math.max(start, index - widest / 3);
  const to = Math.min(end, index + Math.max(length, (widest * 2) / 3));
  const view = text.slice(isWithinCharacter(text, from) ? from - 1 : from, isWithinCharacter(text, to) ? to + 1 : to);
  return { shown: `…${view}…`, end: to, isLine: false };
}

function isWithinCharacter(text: string, index: number): boolean {
  const [first, second] = [text.charCodeAt(index - 1), text.charCodeAt(index)];
  return first >= 0xd800 && first < 0xdc00 && second >= 0xdc00 && second < 0xe000;
}

/**
 * Literal search in an output, which may be one line of megabytes. The search is linear (find-text.ts), and done in
 * pieces (SEC-15).
 */

import { startOfCharacter, textOfBytes } from "../core/data/text-bytes.js";
import { byteLength } from "../platform/bytes.js";
import { findText, prepareWanted } from "./find-text.js";
import { countLineEnds, decodeInPieces } from "./long-bytes.js";
import type { Pace } from "./pace.js";

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
export async function findInOutput(bytes: Uint8Array, search: OutputSearch, pace: Pace): Promise<string> {
  const { ignoreCase } = search;
  if (/[\r\n]/.test(search.text))
    throw new Error("The text spans several lines, but each line is searched on its own. Give a part of one line.");
  const start = startOfCharacter(bytes, Math.min(search.fromByte ?? 0, bytes.length));
  const text = await decodeInPieces(bytes.subarray(start), textOfBytes, pace);
  const firstLine = 1 + (await countLineEnds(bytes, 0, start, pace));
  const byteAt = createByteCounter(text, start);
  const shown: string[] = [];
  let [room, goOnFrom]: [number, number] = [search.most, 0];
  let next: number | null = null;
  await findText(text, prepareWanted(search.text, { ignoreCase }), pace, {
    onMatch: ({ at, line }) => {
      if (at < goOnFrom) return "overlapping";
      const around = partAround(text, at, search.text.length);
      const byte = byteAt(at);
      const found = `line ${firstLine + line - 1}${around.isLine ? "" : `, byte ${byte}`}: ${around.shown}`;
      room -= found.length * 3 + 1;
      if (shown.length === search.limit || room < 0) {
        next = byte;
        return "stop";
      }
      shown.push(found);
      goOnFrom = Math.max(around.end, at + search.text.length);
      return "overlapping";
    },
    onPiece: (to) => void byteAt(to),
  });
  const wanted = JSON.stringify(search.text);
  if (shown.length === 0) return `(output ${search.output} has no ${wanted} from byte ${start} on)`;
  const more = next === null ? "no more" : `go on with fromByte ${next}`;
  const places = shown.length === 1 ? "1 place" : `${shown.length} places`;
  return `(output ${search.output}, ${places} with ${wanted}; ${more})\n${shown.join("\n")}`;
}

/** Tells at which byte a character begins. Asked for places from the start on; it may go back by a few characters. */
function createByteCounter(text: string, start: number): (index: number) => number {
  let [knownIndex, knownByte] = [0, start];
  return (asked) => {
    const index = isWithinCharacter(text, asked) ? asked - 1 : asked;
    if (index < knownIndex) return knownByte - byteLength(text.slice(index, knownIndex));
    knownByte += byteLength(text.slice(knownIndex, index));
    knownIndex = index;
    return knownByte;
  };
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

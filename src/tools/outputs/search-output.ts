/**
 * Literal search in an output, which may be a single line of megabytes. The search is linear (literal-search.ts), and works in
 * pieces (SEC-15).
 */

import { decodeText, findCharacterStart } from "../../core/data/text-bytes.js";
import { byteLength } from "../../platform/bytes.js";
import { compileNeedle, findText } from "../lib/literal-search.js";
import { countLineEnds, decodeInPieces } from "../lib/long-bytes.js";
import type { Pace } from "../lib/pace.js";

export type OutputSearch = {
  readonly output: number;
  readonly text: string;
  readonly ignoreCase?: boolean;
  readonly fromByte?: number;
  /** The maximum number of matches to show. */
  readonly limit: number;
  /** The maximum number of bytes to show. */
  readonly maxTextBytes: number;
};

/** The maximum length of a shown line, in characters. Of a longer line, the part around the match is shown. */
const maxLineCharacters = 300;

/** @throws Error if the text contains a line break */
export async function searchOutput(bytes: Uint8Array, search: OutputSearch, pace: Pace): Promise<string> {
  const { ignoreCase } = search;
  if (/[\r\n]/.test(search.text))
    throw new Error("The text spans several lines, but lines are searched one by one. Give part of a single line.");
  const start = findCharacterStart(bytes, Math.min(search.fromByte ?? 0, bytes.length));
  const text = await decodeInPieces(bytes.subarray(start), decodeText, pace);
  const firstLine = 1 + (await countLineEnds(bytes, 0, start, pace));
  const byteAt = createByteCounter(text, start);
  const shown: string[] = [];
  let [remainingBytes, resumeAt]: [number, number] = [search.maxTextBytes, 0];
  let next: number | null = null;
  await findText(text, compileNeedle(search.text, { ignoreCase }), pace, {
    onMatch: ({ at, line }) => {
      if (at < resumeAt) return "overlapping";
      const excerpt = excerptAround(text, at, search.text.length);
      const byte = byteAt(at);
      const found = `line ${firstLine + line - 1}${excerpt.isLine ? "" : `, byte ${byte}`}: ${excerpt.shown}`;
      remainingBytes -= found.length * 3 + 1;
      if (shown.length === search.limit || remainingBytes < 0) {
        next = byte;
        return "stop";
      }
      shown.push(found);
      resumeAt = Math.max(excerpt.end, at + search.text.length);
      return "overlapping";
    },
    onPiece: (to) => void byteAt(to),
  });
  const quotedText = JSON.stringify(search.text);
  if (shown.length === 0) return `(output ${search.output} has no ${quotedText} from byte ${start} on)`;
  const more = next === null ? "no more" : `continue with fromByte ${next}`;
  const matchCount = shown.length === 1 ? "1 match" : `${shown.length} matches`;
  return `(output ${search.output}, ${matchCount} with ${quotedText}; ${more})\n${shown.join("\n")}`;
}

/** Converts character offsets to byte offsets. Offsets must ascend, but may go back by a few characters. */
function createByteCounter(text: string, start: number): (index: number) => number {
  let [knownIndex, knownByte] = [0, start];
  return (requestedIndex) => {
    const index = splitsCharacter(text, requestedIndex) ? requestedIndex - 1 : requestedIndex;
    if (index < knownIndex) return knownByte - byteLength(text.slice(index, knownIndex));
    knownByte += byteLength(text.slice(knownIndex, index));
    knownIndex = index;
    return knownByte;
  };
}

type MatchExcerpt = { readonly shown: string; readonly end: number; readonly isLine: boolean };

/** The line of a match or, if the line is long, the part around the match. */
function excerptAround(text: string, index: number, length: number): MatchExcerpt {
  const earliest = Math.max(0, index - maxLineCharacters);
  const before = text.slice(earliest, index).lastIndexOf("\n");
  const lineEnd = text.slice(index, index + maxLineCharacters).indexOf("\n");
  const start = before === -1 ? earliest : earliest + before + 1;
  const end = lineEnd === -1 ? Math.min(text.length, index + maxLineCharacters) : index + lineEnd;
  const isWhole = (before !== -1 || earliest === 0) && (lineEnd !== -1 || end === text.length);
  if (isWhole && end - start <= maxLineCharacters) return { shown: text.slice(start, end), end, isLine: true };
  const from = Math.max(start, index - maxLineCharacters / 3);
  const to = Math.min(end, index + Math.max(length, (maxLineCharacters * 2) / 3));
  const excerptText = text.slice(
    splitsCharacter(text, from) ? from - 1 : from,
    splitsCharacter(text, to) ? to + 1 : to,
  );
  return { shown: `…${excerptText}…`, end: to, isLine: false };
}

function splitsCharacter(text: string, index: number): boolean {
  const [first, second] = [text.charCodeAt(index - 1), text.charCodeAt(index)];
  return first >= 0xd800 && first < 0xdc00 && second >= 0xdc00 && second < 0xe000;
}

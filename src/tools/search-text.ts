/**
 * Search for a part of a line. Each line counts once, however often it contains the text.
 */
import { type FoundAt, findText, prepareWanted, type Wanted } from "./find-text.js";
import type { Pace } from "./pace.js";

export type SearchOptions = {
  readonly text: string;
  readonly ignoreCase?: boolean;
  readonly wholeWord?: boolean;
};

/**
 * A matching line: its number from 1, and its trimmed text. Of a long line, only the part around the match is shown.
 */
export type Match = { readonly line: number; readonly text: string };

export type LineSearch = { readonly wanted: Wanted; readonly wholeWord: boolean };

const maxShown = 300;

export function prepareSearch({ text, ignoreCase, wholeWord = false }: SearchOptions): LineSearch {
  return { wanted: prepareWanted(text, { ignoreCase }), wholeWord };
}

/** Returns the number of matching lines, and shows the first `most` of them to `onMatch`. */
export async function findLines(
  text: string,
  { wanted, wholeWord }: LineSearch,
  { pace, most, onMatch }: { readonly pace: Pace; readonly most: number; readonly onMatch: (match: Match) => void },
): Promise<number> {
  const length = wanted.units.length;
  let lines = 0;
  await findText(text, wanted, pace, {
    onMatch: (found) => {
      if (wholeWord && !isWord(text, found.at, length)) return "overlapping";
      lines += 1;
      if (lines <= most) onMatch({ line: found.line, text: cutAround(text, found) });
      return "next line";
    },
  });
  return lines;
}

function isWord(text: string, at: number, length: number): boolean {
  return !wordCharacter.test(text.charAt(at - 1)) && !wordCharacter.test(text.charAt(at + length));
}

const wordCharacter = /[\p{L}\p{N}_]/u;

/** The most spaces around a line that are looked through to trim them. */
const maxSpaces = 1000;

function cutAround(text: string, { at, lineStart }: FoundAt): string {
  const least = Math.max(lineStart, at - maxSpaces);
  const part = text.slice(least, at + maxShown + maxSpaces);
  const lineBreak = part.indexOf("\n", at - least);
  const isEnd = lineBreak !== -1 || least + part.length === text.length;
  const line = lineBreak === -1 ? part : part.slice(0, lineBreak);
  const trimmed = line.trim();
  if (least === lineStart && isEnd && trimmed.length <= maxShown) return trimmed;
  const start = Math.max(0, Math.min(at - least - 50, line.length - maxShown));
  const end = start + maxShown;
  const [isCutBefore, isCutAfter] = [start > 0 || least > lineStart, end < line.length || !isEnd];
  return `${isCutBefore ? "…" : ""}${line.slice(start, end).trim()}${isCutAfter ? "…" : ""}`;
}

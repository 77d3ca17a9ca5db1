/**
 * Searches for text within lines. Each line counts once, however many times it contains the text.
 */
import { compileNeedle, findText, type TextMatch } from "../lib/literal-search.js";
import type { Pace } from "../lib/pace.js";

export type SearchOptions = {
  readonly text: string;
  readonly ignoreCase?: boolean;
  readonly wholeWord?: boolean;
};

/** A matching line: its number from 1, and its trimmed text. Of a long line, only the part around the match is shown. */
export type LineMatch = { readonly line: number; readonly text: string };

export type LineSearchOptions = {
  readonly pace: Pace;
  /** The maximum number of matching lines that are passed to `onMatch`. */
  readonly maxMatches: number;
  readonly onMatch: (match: LineMatch) => void;
};

/** `lines`: the number of matching lines. `cutLines`: the number of lines of which only the beginning was searched. */
export type LineCount = { readonly lines: number; readonly cutLines: number };

export type LineSearch = (text: string, plan: LineSearchOptions) => Promise<LineCount>;

const maxShown = 300;

export function createTextSearch({ text: searchText, ignoreCase, wholeWord = false }: SearchOptions): LineSearch {
  const needle = compileNeedle(searchText, { ignoreCase });
  return async (text, { pace, maxMatches, onMatch }) => {
    let lines = 0;
    await findText(text, needle, pace, {
      onMatch: (textMatch) => {
        if (wholeWord && !isWholeWord(text, textMatch.at, needle.units.length)) return "overlapping";
        lines += 1;
        if (lines <= maxMatches) onMatch({ line: textMatch.line, text: excerptLine(text, textMatch) });
        return "next line";
      },
    });
    return { lines, cutLines: 0 };
  };
}

/** The maximum length of a text that is searched natively: the time is bounded by the product of both lengths. */
const maxNativeCharacters = 64;
const maxNativeBytes = 128 * 1024;

/** Counts the lines that contain the text, using the bytes of a file; null if this method is not applicable. */
export function countMatchingLines(bytes: Buffer, { text, ignoreCase, wholeWord }: SearchOptions): number | null {
  const isNative =
    text.length <= maxNativeCharacters && bytes.length <= maxNativeBytes && !/[\ufffd\p{Cs}]/u.test(text);
  if (ignoreCase === true || wholeWord === true || !isNative) return null;
  let lines = 0;
  for (let at = bytes.indexOf(text); at !== -1; at = bytes.indexOf(text, at)) {
    lines += 1;
    at = bytes.indexOf(newline, at);
    if (at === -1) break;
  }
  return lines;
}

const newline = 10;

function isWholeWord(text: string, at: number, length: number): boolean {
  return !wordCharacter.test(text.charAt(at - 1)) && !wordCharacter.test(text.charAt(at + length));
}

const wordCharacter = /[\p{L}\p{N}_]/u;

/** The maximum number of spaces around a line that are trimmed. */
const maxSpaces = 1000;

/** The trimmed line, or the part around an offset. */
export function excerptLine(text: string, { at, lineStart }: Pick<TextMatch, "at" | "lineStart">): string {
  const earliest = Math.max(lineStart, at - maxSpaces);
  const part = text.slice(earliest, at + maxShown + maxSpaces);
  const lineBreak = part.indexOf("\n", at - earliest);
  const isEnd = lineBreak !== -1 || earliest + part.length === text.length;
  const line = lineBreak === -1 ? part : part.slice(0, lineBreak);
  const trimmed = line.trim();
  if (earliest === lineStart && isEnd && trimmed.length <= maxShown) return trimmed;
  const start = Math.max(0, Math.min(at - earliest - 50, line.length - maxShown));
  const end = start + maxShown;
  const [isCutBefore, isCutAfter] = [start > 0 || earliest > lineStart, end < line.length || !isEnd];
  return `${isCutBefore ? "…" : ""}${line.slice(start, end).trim()}${isCutAfter ? "…" : ""}`;
}

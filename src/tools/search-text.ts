/**
 * Literal search in a text, line by line. The cost is bounded by the text's length (SEC-15).
 */
import { linesOf } from "./text-file.js";

export type SearchOptions = {
  readonly text: string;
  readonly ignoreCase?: boolean;
  readonly wholeWord?: boolean;
};

/**
 * A matching line: its number from 1, and its trimmed text. Of a long line, only the part around the match is shown.
 */
export type Match = { readonly line: number; readonly text: string };

const maxShown = 300;

export function findMatches(text: string, options: SearchOptions): readonly Match[] {
  const wanted = options.ignoreCase === true ? options.text.toLowerCase() : options.text;
  const fold = (line: string) => (options.ignoreCase === true ? line.toLowerCase() : line);
  if (!fold(text).includes(wanted)) return [];
  const matches: Match[] = [];
  for (const [index, line] of linesOf(text).entries()) {
    const at = indexOfWanted(fold(line), wanted, options.wholeWord === true);
    if (at !== -1) matches.push({ line: index + 1, text: cutAround(line, at) });
  }
  return matches;
}

/** Counts non-overlapping occurrences. */
export function countOccurrences(text: string, wanted: string): number {
  let count = 0;
  for (let at = text.indexOf(wanted); at !== -1; at = text.indexOf(wanted, at + wanted.length)) count += 1;
  return count;
}

function indexOfWanted(line: string, wanted: string, wholeWord: boolean): number {
  for (let at = line.indexOf(wanted); at !== -1; at = line.indexOf(wanted, at + 1)) {
    const isWord = !wordCharacter.test(line.charAt(at - 1)) && !wordCharacter.test(line.charAt(at + wanted.length));
    if (!wholeWord || isWord) return at;
  }
  return -1;
}

const wordCharacter = /[\p{L}\p{N}_]/u;

function cutAround(line: string, at: number): string {
  const trimmed = line.trim();
  if (trimmed.length <= maxShown) return trimmed;
  const start = Math.max(0, Math.min(at - 50, line.length - maxShown));
  const end = start + maxShown;
  return `${start > 0 ? "…" : ""}${line.slice(start, end).trim()}${end < line.length ? "…" : ""}`;
}

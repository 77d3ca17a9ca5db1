/**
 * A quick test that most files fail: whether their bytes contain one of a few short texts. Files that pass are searched line by
 * line. A file that fails has no matching line.
 *
 * The texts are short, so that the native search, which may take the product of both lengths, stays linear in the file's size.
 */
import { Buffer } from "node:buffer";
import type { FileHandle } from "node:fs/promises";
import { type Pace, pieceSize } from "../lib/pace.js";
import type { SearchOptions } from "./line-search.js";
import { findRequiredTexts } from "./required-texts.js";

export type SearchFilter = {
  /** If `ignoreCase` is set, the texts are in lower case and consist only of ASCII characters. */
  readonly texts: readonly string[];
  readonly ignoreCase: boolean;
  /** The size of the longest text, in bytes. */
  readonly maxTextBytes: number;
  readonly mayMatchBytes: (bytes: Buffer) => boolean;
  readonly mayMatchLine: (line: string) => boolean;
};

const maxTextCharacters = 32;

/** Null if every file must be searched. */
export function createSearchFilter({
  text,
  ignoreCase = false,
  regex = false,
}: SearchOptions & { readonly regex?: boolean }): SearchFilter | null {
  const parts = regex ? findRequiredTexts(text) : [text];
  const texts = parts?.map((part) => (ignoreCase ? findLongestAsciiRun(part) : part)).map(truncateText);
  if (texts === undefined || texts.some((one) => one === "" || uncertainCharacters.test(one))) return null;
  const needles = texts.map((one) => ({ bytes: Buffer.from(one), rareEnd: Buffer.from(sliceFromRarest(one)) }));
  const maxTextBytes = Math.max(...needles.map(({ bytes }) => bytes.length));
  if (!ignoreCase)
    return {
      texts,
      ignoreCase,
      maxTextBytes,
      mayMatchBytes: (file) => needles.some(({ bytes, rareEnd }) => file.includes(rareEnd) && file.includes(bytes)),
      mayMatchLine: (line) => texts.some((one) => line.includes(one)),
    };
  return {
    texts,
    ignoreCase,
    maxTextBytes,
    mayMatchBytes(file) {
      const lower = file.toString("latin1").toLowerCase();
      return texts.some((one) => lower.includes(one)) || nonAsciiCaseVariants.some((one) => file.includes(one));
    },
    mayMatchLine(line) {
      const lower = line.toLowerCase();
      return texts.some((one) => lower.includes(one)) || /[\u017f\u212a]/.test(line);
    },
  };
}

/** Letters outside ASCII that are case variants of an ASCII letter: the long s and the Kelvin sign. */
const nonAsciiCaseVariants = [Buffer.from("\u017f"), Buffer.from("\u212a")];

/** Invalid UTF-8 is decoded as U+FFFD, and no file contains a lone surrogate. */
const uncertainCharacters = /[\ufffd\0\r\n]|\p{Cs}/u;

/**
 * The end of a text, starting at its rarest character. The native search first looks for the first character of the needle, and
 * skips bytes twenty times as fast if that character is rare.
 */
function sliceFromRarest(text: string): string {
  let [rarest, rarity] = [0, -1];
  for (const { index, 0: character } of text.matchAll(/./gsu)) {
    const at = frequentCharacters.indexOf(character);
    const characterRarity = at === -1 ? frequentCharacters.length : at;
    if (characterRarity > rarity) [rarest, rarity] = [index, characterRarity];
  }
  return text.slice(rarest);
}

/** The most frequent characters of source code and prose, most frequent first. */
const frequentCharacters = " etaonisrlcdpumfhgybvwkxjqz";

function truncateText(text: string): string {
  return [...text].slice(0, maxTextCharacters).join("");
}

function findLongestAsciiRun(text: string): string {
  return text
    .split(/[^ -~\t]+/)
    .reduce((best, run) => (run.length > best.length ? run : best), "")
    .toLowerCase();
}

/** `mayMatchBytes` for a buffer of any size. */
export async function mayMatchInPieces(filter: SearchFilter, bytes: Buffer, pace: Pace): Promise<boolean> {
  for (let from = 0; from < bytes.length; from += pieceSize) {
    if (filter.mayMatchBytes(bytes.subarray(from, from + pieceSize + filter.maxTextBytes))) return true;
    await pace();
  }
  return false;
}

/** `mayMatchBytes` for an open file of any size, which is read piece by piece. */
export async function mayMatchFile(filter: SearchFilter, file: FileHandle, pace: Pace): Promise<boolean> {
  const piece = Buffer.allocUnsafe(1024 * 1024);
  let carriedBytes = 0;
  for (;;) {
    const { bytesRead } = await file.read(piece, carriedBytes, piece.length - carriedBytes, null);
    if (bytesRead === 0) return false;
    const read = piece.subarray(0, carriedBytes + bytesRead);
    if (await mayMatchInPieces(filter, read, pace)) return true;
    carriedBytes = Math.min(filter.maxTextBytes, read.length);
    piece.copyWithin(0, read.length - carriedBytes, read.length);
  }
}

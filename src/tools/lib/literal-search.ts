/**
 * Literal search in a text of any length, with the Knuth–Morris–Pratt algorithm.
 *
 * 1. Each character of the text is read once, with at most two steps on average. So the cost is linear in the text, whatever the
 *    text and the needle. `String.indexOf` does not guarantee this (SEC-15).
 * 2. The search works in pieces, and lets the event loop run between them.
 */
import { type Pace, pieceSize } from "./pace.js";

/** A search text, prepared for the search. */
export type Needle = {
  readonly units: Uint16Array;
  /** For each length of a partial match, the length to continue with after a mismatch. */
  readonly fallbackLengths: Int32Array;
  readonly ignoreCase: boolean;
  /** The number of line breaks before the last character. */
  readonly innerLineBreaks: number;
};

export type TextMatch = {
  /** The offset of the match. */
  readonly at: number;
  /** The line in which the match begins, from 1. */
  readonly line: number;
  /** The offset of the line on which the match ends. Without a line break in the needle, the match also begins on this line. */
  readonly lineStart: number;
};

/**
 * Where to continue after a match: at the next character, so that matches may overlap; after the match; at the next line; or
 * nowhere.
 */
export type NextPosition = "overlapping" | "after" | "next line" | "stop";

export function compileNeedle(text: string, options: { readonly ignoreCase?: boolean | undefined } = {}): Needle {
  const ignoreCase = options.ignoreCase === true;
  const units = new Uint16Array(text.length);
  for (let at = 0; at < text.length; at += 1) units[at] = ignoreCase ? toLowerUnit(text, at) : text.charCodeAt(at);
  const fallbackLengths = new Int32Array(text.length + 1);
  for (let at = 1, length = 0; at < units.length; at += 1) {
    while (length > 0 && units[at] !== units[length]) length = fallbackLengths[length] ?? 0;
    if (units[at] === units[length]) length += 1;
    fallbackLengths[at + 1] = length;
  }
  let innerLineBreaks = 0;
  for (let at = 0; at < units.length - 1; at += 1) if (units[at] === newline) innerLineBreaks += 1;
  return { units, fallbackLengths, ignoreCase, innerLineBreaks };
}

const newline = 10;

export type MatchHandlers = {
  /** Called for each match, in the order of the text. */
  onMatch(match: TextMatch): NextPosition;
  /** Called when a piece of the text has been searched, with the offset of the next piece. */
  onPiece?(to: number): void;
};

export async function findText(
  text: string,
  needle: Needle,
  pace: Pace,
  { onMatch, onPiece }: MatchHandlers,
): Promise<void> {
  const { units, fallbackLengths, ignoreCase, innerLineBreaks } = needle;
  const count = units.length;
  const last = count - 1;
  let [matched, line, lineStart, isSkipping] = [0, 1, 0, false];
  for (let from = 0; from < text.length; from += pieceSize) {
    const to = Math.min(text.length, from + pieceSize);
    for (let at = from; at < to; at += 1) {
      const plain = text.charCodeAt(at);
      if (!isSkipping) {
        const unit = ignoreCase ? toLowerUnit(text, at) : plain;
        while (matched > 0 && unit !== units[matched]) matched = fallbackLengths[matched] ?? 0;
        if (unit === units[matched]) matched += 1;
        if (matched === count) {
          const continuation = onMatch({ at: at - last, line: line - innerLineBreaks, lineStart });
          if (continuation === "stop") return;
          matched = continuation === "overlapping" ? (fallbackLengths[count] ?? 0) : 0;
          isSkipping = continuation === "next line";
        }
      }
      if (plain === newline) {
        line += 1;
        lineStart = at + 1;
        isSkipping = false;
      }
    }
    onPiece?.(to);
    await pace();
  }
}

/**
 * Returns a unit in lower case. A letter whose lower case has another length is unchanged, so that offsets in the text stay valid.
 */
function toLowerUnit(text: string, at: number): number {
  const unit = text.charCodeAt(at);
  if (unit < 128) return unit >= 65 && unit <= 90 ? unit + 32 : unit;
  if (unit >= 0xd800 && unit < 0xe000) return toLowerSurrogate(text, at, unit);
  return lowerUnitCache[unit] || cacheLowerUnit(unit);
}

/** Lower case by unit; 0 for a unit that has not been looked up yet. */
const lowerUnitCache = new Uint16Array(0x10000);

function cacheLowerUnit(unit: number): number {
  const lower = String.fromCharCode(unit).toLowerCase();
  const lowerCode = lower.length === 1 ? lower.charCodeAt(0) : unit;
  lowerUnitCache[unit] = lowerCode;
  return lowerCode;
}

function toLowerSurrogate(text: string, at: number, unit: number): number {
  const start = unit < 0xdc00 ? at : at - 1;
  const letter = text.codePointAt(start) ?? 0;
  if (letter < 0x10000) return unit;
  const lower = String.fromCodePoint(letter).toLowerCase();
  return lower.length === 2 ? lower.charCodeAt(at - start) : unit;
}

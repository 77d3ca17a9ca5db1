/**
 * The text of a model call as it comes: as deltas, and then once more as a message of the log. Each part of it is given
 * out once.
 */
import type { AssistantMessage } from "../../../index.js";

export type TextDeduplicator = {
  /** An attempt begins. @returns whether text of an earlier attempt of this model call was given out */
  readonly begin: (key: string, attempt: number) => boolean;
  /** @returns the text to show */
  readonly add: (delta: string) => string;
  /** What the log or a snapshot says the whole text so far is. @returns the part that was not given out yet */
  readonly confirm: (key: string, text: string) => string;
};

/** Characters of a text that are made into lines at once: a millisecond or two of work. */
const maxInPiece = 2_048;

/** A text in short pieces, which end at line breaks where there are any, and never within a character. */
export function* splitIntoPieces(text: string): Generator<string> {
  for (let start = 0; start < text.length; ) {
    const candidate = text.slice(start, start + maxInPiece);
    const isWhole = start + candidate.length === text.length;
    const length = isWhole
      ? candidate.length
      : candidate.lastIndexOf("\n") + 1 || candidate.length - (endsInHalfCharacter(candidate) ? 1 : 0);
    yield candidate.slice(0, length);
    start += length;
  }
}

/** The text with the space at its end: what comes next continues it. */
export function joinText({ parts }: AssistantMessage): string {
  let text = "";
  // An answer of one text is that text itself, not a copy.
  for (const part of parts) if (part.type === "text") text += part.text;
  return text;
}

/** Whether the second half of the last character is missing. */
function endsInHalfCharacter(text: string): boolean {
  const last = text.charCodeAt(text.length - 1);
  return last >= 0xd800 && last <= 0xdbff;
}

export function createTextDeduplicator(): TextDeduplicator {
  let [key, attempt] = ["", 0];
  /** What was given out of this model call. */
  let emitted: string[] = [];
  let halfCharacter = "";
  return {
    begin(nextKey, nextAttempt) {
      if (key === nextKey && attempt === nextAttempt) return false;
      const isRestart = key === nextKey && emitted.some((text) => text.trim() !== "");
      [key, attempt, emitted, halfCharacter] = [nextKey, nextAttempt, [], ""];
      return isRestart;
    },
    add(delta) {
      const joined = halfCharacter + delta;
      // The second half of the character is in the next delta.
      halfCharacter = endsInHalfCharacter(joined) ? joined.slice(-1) : "";
      const text = halfCharacter === "" ? joined : joined.slice(0, -1);
      emitted.push(text);
      return text;
    },
    confirm(nextKey, text) {
      if (key !== nextKey) [key, attempt, emitted, halfCharacter] = [nextKey, 0, [], ""];
      const rest = findUnseen(text, emitted);
      if (rest !== "") emitted = [text];
      return rest;
    },
  };
}

/**
 * What of a text was not given out: all of it, if something else was given out; nothing, if it has no more than that. White
 * space does not count, for a provider's deltas may have more of it. Nothing is copied: the text may be long.
 */
function findUnseen(text: string, emitted: readonly string[]): string {
  let at = 0;
  for (const piece of emitted) {
    if (text.startsWith(piece, at)) {
      at += piece.length;
      continue;
    }
    for (let index = 0; index < piece.length; index++) {
      const code = piece.charCodeAt(index);
      if (isSpace(code)) continue;
      at = skipSpace(text, at);
      if (at === text.length) return "";
      if (text.charCodeAt(at) !== code) return text;
      at += 1;
    }
  }
  return skipSpace(text, at) === text.length ? "" : text.slice(at);
}

function skipSpace(text: string, from: number): number {
  let at = from;
  while (at < text.length && isSpace(text.charCodeAt(at))) at += 1;
  return at;
}

/** What `\s` matches. */
function isSpace(code: number): boolean {
  if (code < 128) return code === 32 || (code >= 9 && code <= 13);
  return nonAsciiSpaces.has(code);
}

const nonAsciiSpaces: ReadonlySet<number> = new Set([
  0xa0,
  0x1680,
  0x2028,
  0x2029,
  0x202f,
  0x205f,
  0x3000,
  0xfeff,
  ...Array.from({ length: 11 }, (_, at) => 0x2000 + at),
]);

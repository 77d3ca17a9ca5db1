/**
 * Deduplicates the text of a model call, which comes as deltas and then again as a message of the log. Each part of it is
 * emitted once.
 */
import type { AssistantMessage } from "../../../index.js";

export type TextDeduplicator = {
  /** Begins an attempt. @returns whether text of an earlier attempt of this model call was emitted */
  readonly begin: (key: string, attempt: number) => boolean;
  /** @returns the text to show */
  readonly add: (delta: string) => string;
  /** Adds the whole text so far, from the log or a snapshot. @returns the part that was not emitted yet */
  readonly confirm: (key: string, text: string) => string;
};

/** The maximum length of a piece; characters. Rendering one takes a millisecond or two. */
const maxInPiece = 2_048;

/** Splits a text into short pieces, at line breaks if there are any, and never within a surrogate pair. */
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

/** The text of a message. White space at its end is kept, because later text continues it. */
export function joinText({ parts }: AssistantMessage): string {
  let text = "";
  // If the message has only one text part, the result is that string itself, not a copy.
  for (const part of parts) if (part.type === "text") text += part.text;
  return text;
}

/** Whether the text ends with the first half of a surrogate pair. */
function endsInHalfCharacter(text: string): boolean {
  const last = text.charCodeAt(text.length - 1);
  return last >= 0xd800 && last <= 0xdbff;
}

export function createTextDeduplicator(): TextDeduplicator {
  let [key, attempt] = ["", 0];
  /** What was emitted of this model call. */
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
      // The second half of the surrogate pair is in the next delta.
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
 * The part of a text that was not emitted: all of it if the emitted text differs, nothing if the emitted text covers it. White
 * space is ignored, because a provider's deltas may have more of it. Nothing is copied: the text may be long.
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

/** Whether `\s` matches the character. */
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

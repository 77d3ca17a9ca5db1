/**
 * The text of a model call as it comes: as deltas, and then once more as a message of the log. Each part of it is given
 * out once.
 */
import type { AssistantMessage } from "../../index.js";

export type StreamedText = {
  /** An attempt begins. @returns whether text of an earlier attempt of this model call was given out */
  readonly begin: (key: string, attempt: number) => boolean;
  /** @returns the text to show */
  readonly add: (delta: string) => string;
  /** What the log or a snapshot says the whole text so far is. @returns the part that was not given out yet */
  readonly confirm: (key: string, text: string) => string;
};

/** Characters of a text that are made into lines at once: a millisecond or two of work. */
const mostInPiece = 2_048;

/** A text in short pieces, which end at line breaks where there are any, and never within a character. */
export function* piecesOf(text: string): Generator<string> {
  for (let start = 0; start < text.length; ) {
    const most = text.slice(start, start + mostInPiece);
    const isWhole = start + most.length === text.length;
    const length = isWhole ? most.length : most.lastIndexOf("\n") + 1 || most.length - (endsInHalf(most) ? 1 : 0);
    yield most.slice(0, length);
    start += length;
  }
}

/** The text with the space at its end: what comes next continues it. */
export function wholeText({ parts }: AssistantMessage): string {
  let text = "";
  // An answer of one text is that text itself, not a copy.
  for (const part of parts) if (part.type === "text") text += part.text;
  return text;
}

/** Whether the second half of the last character is missing. */
function endsInHalf(text: string): boolean {
  const last = text.charCodeAt(text.length - 1);
  return last >= 0xd800 && last <= 0xdbff;
}

export function createStreamedText(): StreamedText {
  let [key, attempt] = ["", 0];
  /** What was given out of this model call. */
  let given: string[] = [];
  let half = "";
  return {
    begin(nextKey, nextAttempt) {
      if (key === nextKey && attempt === nextAttempt) return false;
      const isAgain = key === nextKey && given.some((text) => text.trim() !== "");
      [key, attempt, given, half] = [nextKey, nextAttempt, [], ""];
      return isAgain;
    },
    add(delta) {
      const joined = half + delta;
      // The second half of the character is in the next delta.
      half = endsInHalf(joined) ? joined.slice(-1) : "";
      const text = half === "" ? joined : joined.slice(0, -1);
      given.push(text);
      return text;
    },
    confirm(nextKey, text) {
      if (key !== nextKey) [key, attempt, given, half] = [nextKey, 0, [], ""];
      const rest = behind(text, given);
      if (rest !== "") given = [text];
      return rest;
    },
  };
}

/**
 * What of a text was not given out: all of it, if something else was given out; nothing, if it has no more than that. White
 * space does not count, for a provider's deltas may have more of it. Nothing is copied: the text may be long.
 */
function behind(text: string, given: readonly string[]): string {
  let at = 0;
  for (const piece of given) {
    if (text.startsWith(piece, at)) {
      at += piece.length;
      continue;
    }
    for (let index = 0; index < piece.length; index++) {
      const code = piece.charCodeAt(index);
      if (isSpace(code)) continue;
      at = behindSpace(text, at);
      if (at === text.length) return "";
      if (text.charCodeAt(at) !== code) return text;
      at += 1;
    }
  }
  return behindSpace(text, at) === text.length ? "" : text.slice(at);
}

function behindSpace(text: string, from: number): number {
  let at = from;
  while (at < text.length && isSpace(text.charCodeAt(at))) at += 1;
  return at;
}

/** What `\s` matches. */
function isSpace(code: number): boolean {
  if (code < 128) return code === 32 || (code >= 9 && code <= 13);
  return otherSpaces.has(code);
}

const otherSpaces: ReadonlySet<number> = new Set([
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

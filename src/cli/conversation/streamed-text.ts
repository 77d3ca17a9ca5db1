/**
 * The text of a model call as it comes: as deltas, and then once more as a message of the log. Each part of it is given
 * out once.
 */

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

/** Whether the second half of the last character is missing. */
function endsInHalf(text: string): boolean {
  const last = text.charCodeAt(text.length - 1);
  return last >= 0xd800 && last <= 0xdbff;
}

export function createStreamedText(): StreamedText {
  let [key, attempt] = ["", 0];
  /** What was given out of this model call, without white space: a provider's deltas may have more of it. */
  let given = "";
  let half = "";
  return {
    begin(nextKey, nextAttempt) {
      if (key === nextKey && attempt === nextAttempt) return false;
      const isAgain = key === nextKey && given !== "";
      [key, attempt, given, half] = [nextKey, nextAttempt, "", ""];
      return isAgain;
    },
    add(delta) {
      const joined = half + delta;
      // The second half of the character is in the next delta.
      half = endsInHalf(joined) ? joined.slice(-1) : "";
      const text = half === "" ? joined : joined.slice(0, -1);
      given += squeezed(text);
      return text;
    },
    confirm(nextKey, text) {
      if (key !== nextKey) [key, attempt, given, half] = [nextKey, 0, "", ""];
      const whole = squeezed(text);
      if (given.startsWith(whole)) return "";
      const rest = whole.startsWith(given) ? behind(text, given.length) : text;
      given = whole;
      return rest;
    },
  };
}

function squeezed(text: string): string {
  return text.replace(/\s+/g, "");
}

/** What is behind this many characters that are no white space. */
function behind(text: string, count: number): string {
  let [at, left] = [0, count];
  for (; left > 0 && at < text.length; at++) if (!isSpace(text.charCodeAt(at))) left -= 1;
  return text.slice(at);
}

function isSpace(code: number): boolean {
  if (code <= 32) return code === 32 || (code >= 9 && code <= 13);
  return code >= 128 && /\s/.test(String.fromCharCode(code));
}

/**
 * Finds a string in JSON no matter how often it was escaped: once, or several times as JSON within JSON.
 *
 * A string and its escaped forms have the same skeleton. The skeleton drops backslashes, decodes `\uXXXX`, and replaces a control character
 * with the letter of its JSON escape: a newline becomes `n`, because JSON writes `\n`. Different strings may have the same skeleton.
 */
export type Skeleton = {
  /** The characters of the skeleton. */
  readonly text: string;
  /** Where each character of the skeleton starts in the text, including its backslashes. The last item is the end of the last character. */
  readonly starts: readonly number[];
};

/**
 * The skeleton of a string. Takes time linear in its length.
 *
 * @example
 * ```ts
 * import { skeletonOf } from "pawl/core";
 *
 * // A secret with a newline is also found in JSON, where the newline is written as \n.
 * const found = skeletonOf(JSON.stringify({ key: secret })).text.includes(skeletonOf(secret).text); // true
 * ```
 */
export function skeletonOf(text: string): Skeleton {
  const starts: number[] = [];
  const units: string[] = [];
  for (let index = 0; index < text.length; ) {
    starts.push(index);
    const escapedIndex = skipBackslashes(text, index);
    if (escapedIndex === text.length) return { text: units.join(""), starts };
    const code = escapedIndex > index ? readUnicodeEscape(text, escapedIndex) : undefined;
    index = escapedIndex + (code === undefined ? 1 : escapeLength);
    const unit = code === undefined ? text.charAt(escapedIndex) : String.fromCharCode(code);
    units.push(jsonEscapeLetters[unit] ?? unit);
  }
  starts.push(text.length);
  return { text: units.join(""), starts };
}

const jsonEscapeLetters: { readonly [control: string]: string } = {
  "\b": "b",
  "\f": "f",
  "\n": "n",
  "\r": "r",
  "\t": "t",
};

const backslash = 0x5c;
/** The length of `uXXXX`. */
const escapeLength = 5;

/** The index after a run of backslashes. All but the first backslash may be written as `u005c`. */
function skipBackslashes(text: string, start: number): number {
  let index = start;
  for (;;) {
    if (text.charCodeAt(index) === backslash) index += 1;
    else if (index > start && readUnicodeEscape(text, index) === backslash) index += escapeLength;
    else return index;
  }
}

/** The UTF-16 unit that `uXXXX` encodes; undefined if there is no such escape at this index. */
function readUnicodeEscape(text: string, index: number): number | undefined {
  if (text.charAt(index) !== "u") return undefined;
  const digits = text.slice(index + 1, index + escapeLength);
  return /^[0-9a-fA-F]{4}$/.test(digits) ? Number.parseInt(digits, 16) : undefined;
}

/**
 * Estimates the number of tokens of a string from the kinds of its characters: one pass, no vocabulary.
 *
 * A tokenizer first splits a string into words, numbers, punctuation and space, and then into pieces of its vocabulary. The first split is
 * much the same in all tokenizers, so it is made here. The cost of a run of each kind was fitted to public vocabularies. For English, code
 * and JSON the estimate tends to be too high rather than too low. docs/guide/tokens.md lists the measured error.
 */

const lower = 0;
const upper = 1;
const digit = 2;
const space = 3;
const newline = 4;
const punctuation = 5;
/** Letters of other alphabets. */
const otherLetter = 6;
/** Chinese, Japanese and Korean characters and punctuation. */
const ideograph = 7;
/** A surrogate: half of a character beyond the first 65,536, such as an emoji. */
const surrogate = 8;

/** Estimates the number of tokens of a string. A longer string that begins with this one never gets a lower estimate. */
export function estimateTokens(text: string): number {
  let tokens = 0;
  let kind = -1;
  let previousKind = -1;
  let start = 0;
  for (let index = 0; index < text.length; index++) {
    const next = classifyCharacter(text.charCodeAt(index));
    if (next === kind) continue;
    tokens += estimateRun(kind, index - start, previousKind);
    // A single capital belongs to the word that follows it.
    previousKind = kind === upper && index - start > 1 ? -1 : kind;
    kind = next;
    start = index;
  }
  return Math.ceil(tokens + estimateRun(kind, text.length - start, previousKind));
}

/** The number of tokens of a run of characters of one kind. */
function estimateRun(kind: number, length: number, previousKind: number): number {
  switch (kind) {
    case lower:
      return (previousKind === upper ? 0 : 1) + Math.floor((length - 1) / 7) * 0.9;
    case upper:
      return Math.max(1, length / 2.2);
    case digit:
      return Math.ceil(length / 3);
    case space:
      // A single space belongs to the word that follows it.
      return length === 1 ? 0 : 1;
    case newline:
      return previousKind === punctuation ? 0.15 : 1;
    case punctuation:
      return length <= 2 ? 1 : length / 2.6;
    case otherLetter:
      return length * 0.4;
    case ideograph:
      return length * 0.85;
    case surrogate:
      return length;
    default:
      return 0;
  }
}

const asciiKinds = Uint8Array.from({ length: 128 }, (_, code) => {
  const character = String.fromCharCode(code);
  if (/[a-z]/.test(character)) return lower;
  if (/[A-Z]/.test(character)) return upper;
  if (/[0-9]/.test(character)) return digit;
  if (/[ \t]/.test(character)) return space;
  return /[\n\r]/.test(character) ? newline : punctuation;
});

function classifyCharacter(code: number): number {
  if (code < 128) return asciiKinds[code] ?? punctuation;
  if (code >= 0xd800 && code <= 0xdfff) return surrogate;
  if ((code >= 0x2e80 && code < 0xd800) || (code >= 0xf900 && code < 0xfb00) || code >= 0xff00) return ideograph;
  return code < 0xc0 || (code >= 0x2000 && code < 0x2c00) ? punctuation : otherLetter;
}

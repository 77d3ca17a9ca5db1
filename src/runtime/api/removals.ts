/**
 * Two ways to remove content: some texts wherever they are, and all of something.
 */
import { createMask, mapStringsAndNumbers, mask } from "../../core/data/mask.js";
import type { Json } from "../../core/data/message.js";
import type { Replacement } from "../../core/transcript/redact-event.js";
import { base64Of, bytesOfBase64 } from "../../platform/bytes.js";

/** What stands in place of the bytes of a blob. `isMark`: nothing of them is left. */
export type NewBytes = { readonly bytes: Uint8Array; readonly isMark: boolean };

export type Removal = Pick<Replacement, "text" | "json" | "file" | "allFiles" | "mark"> & {
  /** Null if the bytes stay as they are. */
  readonly bytes: (bytes: Uint8Array) => NewBytes | null;
};

const encoder = new TextEncoder();
const maskBytes = encoder.encode(mask);
const marks: Replacement["mark"] = { text: mask, base64: base64Of(maskBytes) };

/** Removes texts: in words, in data, in files, and where JSON has escaped them. */
export function withoutTexts(texts: readonly string[]): Removal {
  const masked = createMask(texts);
  const text = (given: string) => withoutCutEnds(masked(given), texts);
  const needles = texts.map((one) => encoder.encode(one));
  const bytes = (given: Uint8Array): NewBytes | null => {
    const known = textOfBytes(given);
    if (known === null)
      return needles.some((needle) => includes(given, needle)) ? { bytes: maskBytes, isMark: true } : null;
    const changed = text(known);
    return changed === known ? null : { bytes: encoder.encode(stillJson(known, changed)), isMark: false };
  };
  const json = (value: Json): Json => {
    let isChanged = false;
    const changed = mapStringsAndNumbers(value, (one) => {
      const present = text(one);
      isChanged ||= present !== one;
      return present;
    });
    return isChanged ? changed : value;
  };
  /** JSON in which a number was masked is not JSON any more: it is written again, with a string in place of the number. */
  const stillJson = (before: string, after: string): string => {
    const parsed = parsedJson(before);
    if (parsed === undefined || parsedJson(after) !== undefined) return after;
    const written = JSON.stringify(json(parsed));
    return text(written) === written ? written : after;
  };
  return {
    text,
    json,
    file: (data) => {
      const changed = bytes(bytesOfBase64(data));
      if (changed === null) return data;
      return changed.isMark ? null : base64Of(changed.bytes);
    },
    bytes,
    allFiles: false,
    mark: marks,
  };
}

/** Removes everything. @param onText is called with each text that is removed */
export function wholeContent(onText: (text: string) => void): Removal {
  return {
    text(given) {
      if (given === "" || given === mask) return given;
      onText(given);
      return mask;
    },
    json: markedJson,
    file: () => null,
    bytes: () => ({ bytes: maskBytes, isMark: true }),
    allFiles: true,
    mark: marks,
  };
}

/** Data of another shape would not be what reads it expects: an object stays one. */
function markedJson(value: Json, field: string): Json {
  if (field === "providerMetadata") return {};
  if (typeof value !== "object" || value === null) return mask;
  if (Array.isArray(value)) return [mask];
  // The keys of a session's data say who may still read what.
  if (field === "set") return Object.fromEntries(Object.keys(value).map((key) => [key, mask]));
  return { redacted: mask };
}

function parsedJson(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}

/** Null if the bytes are no text in UTF-8. */
export function textOfBytes(bytes: Uint8Array): string | null {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return null;
  }
}

function includes(bytes: Uint8Array, needle: Uint8Array): boolean {
  const borders = bordersOf(needle);
  let matched = 0;
  for (const byte of bytes) {
    matched = nextMatched(needle, borders, matched, byte);
    if (matched === needle.length) return true;
  }
  return false;
}

/** The length of the longest text of at most `max` characters with which `left` ends and `right` begins. */
function overlapOf(left: string, right: string, max: number): number {
  const beginning = right.slice(0, max);
  const borders = bordersOf(beginning);
  let matched = 0;
  for (let index = Math.max(0, left.length - max); index < left.length; index += 1)
    matched = nextMatched(beginning, borders, matched, left[index]);
  return matched;
}

/**
 * For each position, the length of the longest beginning of the pattern that ends there, apart from the one that starts at 0
 * (Knuth, Morris and Pratt). With it, a search takes linear time, whatever repeats in the pattern.
 */
function bordersOf<Unit>(pattern: ArrayLike<Unit>): readonly number[] {
  const borders = [0];
  for (let index = 1; index < pattern.length; index += 1)
    borders.push(nextMatched(pattern, borders, borders[index - 1] ?? 0, pattern[index]));
  return borders;
}

function nextMatched<Unit>(
  pattern: ArrayLike<Unit>,
  borders: readonly number[],
  matched: number,
  unit: Unit | undefined,
): number {
  let length = matched;
  while (length > 0 && pattern[length] !== unit) length = borders[length - 1] ?? 0;
  return pattern[length] === unit ? length + 1 : 0;
}

/** Where Pawl left something out: in the middle of an output, and at the end of a title. */
const leftOut = /(\n?\[… left out here: [^\]]{1,200}…\]\n?|…$)/;
/** Fewer characters of a secret say nothing. */
const leastOfSecret = 6;

/** Masks what is left of a text on either side of a place where something was left out. */
function withoutCutEnds(text: string, secrets: readonly string[]): string {
  if (!text.includes("…")) return text;
  const pieces = text.split(leftOut);
  if (pieces.length === 1) return text;
  return pieces
    .map((piece, index) => {
      if (index % 2 === 1) return piece;
      const beginning = index + 1 < pieces.length ? secrets.reduce(withoutBeginningAtEnd, piece) : piece;
      return index > 0 ? secrets.reduce(withoutEndAtStart, beginning) : beginning;
    })
    .join("");
}

function withoutBeginningAtEnd(text: string, secret: string): string {
  const length = overlapOf(text, secret, secret.length - 1);
  return length < leastOfSecret ? text : text.slice(0, -length) + mask;
}

function withoutEndAtStart(text: string, secret: string): string {
  const length = overlapOf(secret, text, secret.length - 1);
  return length < leastOfSecret ? text : mask + text.slice(length);
}

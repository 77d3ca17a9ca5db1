/**
 * Two ways to remove content: given strings wherever they occur, or everything.
 */
import { createMask, mapStringsAndNumbers, mask } from "../../core/data/mask.js";
import type { Json } from "../../core/data/message.js";
import type { Replacement } from "../../core/transcript/redact-event.js";
import { decodeBase64, encodeBase64 } from "../../platform/bytes.js";

/** The replacement for the bytes of a blob. `isErasureMark`: nothing of the original remains. */
export type ReplacedBytes = { readonly bytes: Uint8Array; readonly isErasureMark: boolean };

export type Removal = Pick<Replacement, "text" | "json" | "file" | "allFiles" | "mark"> & {
  /** Null if the bytes do not change. */
  readonly bytes: (bytes: Uint8Array) => ReplacedBytes | null;
};

const encoder = new TextEncoder();
const maskBytes = encoder.encode(mask);
const marks: Replacement["mark"] = { text: mask, base64: encodeBase64(maskBytes) };

/** Removes the given strings from text, data and files, including where JSON has escaped them. */
export function createTextRemoval(texts: readonly string[]): Removal {
  const maskTexts = createMask(texts);
  const text = (given: string) => maskCutEnds(maskTexts(given), texts);
  const needles = texts.map((one) => encoder.encode(one));
  const bytes = (given: Uint8Array): ReplacedBytes | null => {
    const known = decodeUtf8(given);
    if (known === null)
      return needles.some((needle) => includesBytes(given, needle)) ? { bytes: maskBytes, isErasureMark: true } : null;
    const changed = text(known);
    return changed === known ? null : { bytes: encoder.encode(keepValidJson(known, changed)), isErasureMark: false };
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
  /** Masking a number makes JSON invalid. It is then serialized again, with a string instead of the number. */
  const keepValidJson = (before: string, after: string): string => {
    const parsed = tryParseJson(before);
    if (parsed === undefined || tryParseJson(after) !== undefined) return after;
    const written = JSON.stringify(json(parsed));
    return text(written) === written ? written : after;
  };
  return {
    text,
    json,
    file: (data) => {
      const changed = bytes(decodeBase64(data));
      if (changed === null) return data;
      return changed.isErasureMark ? null : encodeBase64(changed.bytes);
    },
    bytes,
    allFiles: false,
    mark: marks,
  };
}

/** Removes everything. @param onText is called with each removed string */
export function createWholeRemoval(onText: (text: string) => void): Removal {
  return {
    text(given) {
      if (given === "" || given === mask) return given;
      onText(given);
      return mask;
    },
    json: maskJson,
    file: () => null,
    bytes: () => ({ bytes: maskBytes, isErasureMark: true }),
    allFiles: true,
    mark: marks,
  };
}

/** Masks a value but keeps its kind, because readers expect it: an object stays an object. */
function maskJson(value: Json, field: string): Json {
  if (field === "providerMetadata") return {};
  if (typeof value !== "object" || value === null) return mask;
  if (Array.isArray(value)) return [mask];
  // The keys of a session's data are kept, so that its readers still find them.
  if (field === "set") return Object.fromEntries(Object.keys(value).map((key) => [key, mask]));
  return { redacted: mask };
}

function tryParseJson(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}

/** Null if the bytes are not valid UTF-8. */
export function decodeUtf8(bytes: Uint8Array): string | null {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return null;
  }
}

function includesBytes(bytes: Uint8Array, needle: Uint8Array): boolean {
  const borders = computeBorders(needle);
  let matched = 0;
  for (const byte of bytes) {
    matched = advanceMatch(needle, borders, matched, byte);
    if (matched === needle.length) return true;
  }
  return false;
}

/** The length of the longest suffix of `left` that is a prefix of `right`, up to `max` characters. */
function measureOverlap(left: string, right: string, max: number): number {
  const beginning = right.slice(0, max);
  const borders = computeBorders(beginning);
  let matched = 0;
  for (let index = Math.max(0, left.length - max); index < left.length; index += 1)
    matched = advanceMatch(beginning, borders, matched, left[index]);
  return matched;
}

/**
 * For each prefix of the pattern, the length of its longest proper prefix that is also its suffix (Knuth, Morris and Pratt). It makes a
 * search take linear time, whatever repetitions the pattern has.
 */
function computeBorders<Unit>(pattern: ArrayLike<Unit>): readonly number[] {
  const borders = [0];
  for (let index = 1; index < pattern.length; index += 1)
    borders.push(advanceMatch(pattern, borders, borders[index - 1] ?? 0, pattern[index]));
  return borders;
}

function advanceMatch<Unit>(
  pattern: ArrayLike<Unit>,
  borders: readonly number[],
  matched: number,
  unit: Unit | undefined,
): number {
  let length = matched;
  while (length > 0 && pattern[length] !== unit) length = borders[length - 1] ?? 0;
  return pattern[length] === unit ? length + 1 : 0;
}

/** Matches where Pawl has truncated text: in the middle of an output, and at the end of a title. */
const omissionPattern = /(\n?\[… left out here: [^\]]{1,200}…\]\n?|…$)/;
/** Shorter parts of a secret reveal nothing. */
const minSecretPart = 6;

/** Masks the rest of a secret on either side of a truncation. */
function maskCutEnds(text: string, secrets: readonly string[]): string {
  if (!text.includes("…")) return text;
  const pieces = text.split(omissionPattern);
  if (pieces.length === 1) return text;
  return pieces
    .map((piece, index) => {
      if (index % 2 === 1) return piece;
      const beginning = index + 1 < pieces.length ? secrets.reduce(maskBeginningAtEnd, piece) : piece;
      return index > 0 ? secrets.reduce(maskEndAtStart, beginning) : beginning;
    })
    .join("");
}

function maskBeginningAtEnd(text: string, secret: string): string {
  const length = measureOverlap(text, secret, secret.length - 1);
  return length < minSecretPart ? text : text.slice(0, -length) + mask;
}

function maskEndAtStart(text: string, secret: string): string {
  const length = measureOverlap(secret, text, secret.length - 1);
  return length < minSecretPart ? text : mask + text.slice(length);
}

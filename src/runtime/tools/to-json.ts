/**
 * Converts the return values of tools and hooks to plain JSON before they are committed.
 *
 * Values that JSON lacks (dates, maps, errors) are converted to a readable form. Cycles, and values that are nested too
 * deeply, are replaced by a marker. A value is refused if it throws while it is read, has a dangerous key, or is too
 * large. A promise is refused as well: an `await` is missing, and it would be an empty object.
 */

import { getErrorMessage } from "../../core/data/error-message.js";
import { isJsonObject } from "../../core/data/is-object.js";
import { formatPath, isDangerousKey } from "../../core/data/json.js";
import type { FilePart, Json, TextPart, ToolOutput } from "../../core/data/message.js";
import { blobScheme } from "../../core/transcript/blob-references.js";
import { PawlError } from "../../errors.js";
import { encodeBase64 } from "../../platform/bytes.js";

const maxDepth = 100;
const maxValues = 1_000_000;
const maxCharacters = 256 * 1024 * 1024;

/**
 * Converts a tool's return value to the output that the model sees: a string becomes text, `undefined` becomes
 * "(no output)", bytes become a file, a `ToolOutput` stays as it is, and anything else becomes JSON.
 *
 * @throws PawlError `not_storable` if the value cannot be converted to JSON; the message contains the path
 */
export function toToolOutput(value: unknown): ToolOutput {
  if (typeof value === "string") return { type: "text", text: value };
  if (value === undefined) return { type: "text", text: "(no output)" };
  if (value instanceof Uint8Array || value instanceof ArrayBuffer) return toFileOutput(value);
  const plain = normaliseJson(value);
  return asToolOutput(plain) ?? { type: "json", value: plain };
}

/**
 * Returns a copy of a value as plain JSON. Dates become ISO strings, BigInts strings of digits, Maps objects (or arrays of
 * pairs, if a key is not a string), and Sets arrays. Errors become their name and message, bytes, functions and responses of `fetch` a
 * description, NaN and the infinities their names. `undefined`, symbols and functions in objects are omitted. `toJSON` is called.
 *
 * @throws PawlError `not_storable`; the message contains the path
 */
export function normaliseJson(value: unknown): Json {
  if (value === null || typeof value === "string" || typeof value === "boolean") return value;
  const conversion: Conversion = { path: [], ancestors: [], values: 0, characters: 0 };
  try {
    return convert(value, conversion) ?? describe(value);
  } catch (cause) {
    if (cause instanceof PawlError) throw cause;
    throw notStorableError(conversion, `throws while it is read (${getErrorMessage(cause)})`, cause);
  }
}

type Conversion = {
  readonly path: PropertyKey[];
  readonly ancestors: object[];
  values: number;
  characters: number;
};

/** `undefined` if JSON has no such value. */
function convert(value: unknown, conversion: Conversion): Json | undefined {
  conversion.values += 1;
  if (conversion.values > maxValues) throw notStorableError(conversion, `is one of more than ${maxValues} values`);
  switch (typeof value) {
    case "string":
      return countCharacters(value, conversion);
    case "boolean":
      return value;
    case "number":
      return Number.isFinite(value) ? value : String(value);
    case "bigint":
      return countCharacters(value.toString(), conversion);
    case "object":
      return value === null ? null : convertObject(value, conversion);
    default:
      return undefined;
  }
}

function convertObject(value: object, conversion: Conversion): Json | undefined {
  if (conversion.ancestors.includes(value)) return "[Circular]";
  if (conversion.ancestors.length >= maxDepth) return `[Deeper than ${maxDepth} levels]`;
  conversion.ancestors.push(value);
  const converted = convertMembers(value, conversion);
  conversion.ancestors.pop();
  return converted;
}

function convertMembers(value: object, conversion: Conversion): Json | undefined {
  if (Array.isArray(value)) return convertItems(value, conversion);
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? "Invalid Date" : value.toISOString();
  if (value instanceof Error) return countCharacters(`${value.name}: ${value.message}`, conversion);
  if (value instanceof RegExp) return String(value);
  if (value instanceof Promise) throw notStorableError(conversion, "is a promise that nothing has awaited");
  if (isResponse(value)) return `[Response with status ${value.status}, whose body was not read]`;
  if (value instanceof Map) return convertMap(value, conversion);
  if (value instanceof Set) return convertItems([...value], conversion);
  if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) return convertBinary(value, conversion);
  const { toJSON } = value as { readonly toJSON?: unknown };
  if (typeof toJSON === "function") {
    const replaced: unknown = toJSON.call(value, String(conversion.path.at(-1) ?? ""));
    // An object that returns itself is converted by its properties.
    if (replaced !== value) return convert(replaced, conversion);
  }
  return convertEntries(Object.keys(value), (key) => (value as { readonly [key: string]: unknown })[key], conversion);
}

/** Does not name the class: Node loads its HTTP client, which takes 20 ms, when a program first does. */
function isResponse(value: object): value is Response {
  return Object.prototype.toString.call(value) === "[object Response]";
}

function convertItems(items: readonly unknown[], conversion: Conversion): Json {
  if (items.length > maxValues) throw notStorableError(conversion, `has more than ${maxValues} items`);
  const converted: Json[] = [];
  for (let index = 0; index < items.length; index++) {
    conversion.path.push(index);
    converted.push(convert(items[index], conversion) ?? null);
    conversion.path.pop();
  }
  return converted;
}

function convertEntries(keys: readonly string[], read: (key: string) => unknown, conversion: Conversion): Json {
  const converted: { [key: string]: Json } = {};
  for (const key of keys) {
    if (isDangerousKey(key)) throw notStorableError(conversion, `has the key "${key}", which is refused`);
    conversion.path.push(key);
    const member = convert(read(key), conversion);
    if (member !== undefined) converted[countCharacters(key, conversion)] = member;
    conversion.path.pop();
  }
  return converted;
}

function convertMap(map: ReadonlyMap<unknown, unknown>, conversion: Conversion): Json {
  const keys = [...map.keys()];
  const texts = keys.filter((key): key is string => typeof key === "string" && !isDangerousKey(key));
  return texts.length === keys.length
    ? convertEntries(texts, (key) => map.get(key), conversion)
    : convertItems([...map.entries()], conversion);
}

function convertBinary(value: ArrayBufferView | ArrayBuffer, conversion: Conversion): Json {
  const isNumbers =
    ArrayBuffer.isView(value) &&
    !(value instanceof DataView || value instanceof Uint8Array || value instanceof Uint8ClampedArray);
  return isNumbers
    ? convertItems(Array.from(value as unknown as ArrayLike<unknown>), conversion)
    : `[${value.byteLength} bytes of binary data]`;
}

function countCharacters(text: string, conversion: Conversion): string {
  conversion.characters += text.length;
  if (conversion.characters > maxCharacters)
    throw notStorableError(conversion, `takes the text over ${maxCharacters} characters`);
  return text;
}

/** Describes a value that JSON lacks, if it is the whole result. Inside an object, such a value is omitted. */
function describe(value: unknown): Json {
  if (typeof value === "function") return `[Function${value.name === "" ? "" : ` ${value.name}`}]`;
  return typeof value === "symbol" ? String(value) : null;
}

function notStorableError(conversion: Conversion, what: string, cause?: unknown): PawlError {
  const path =
    conversion.path.length > 20 ? `${formatPath(conversion.path.slice(0, 20))}…` : formatPath(conversion.path);
  return new PawlError(
    "not_storable",
    `The result cannot be stored: ${path === "" ? "the value" : path} ${what}. Return plain JSON or a string.`,
    { cause },
  );
}

/** The value as a `ToolOutput`, if it has exactly that shape. */
function asToolOutput(value: Json): ToolOutput | null {
  if (!isJsonObject(value)) return null;
  const { type, text, value: json, parts } = value;
  if (Object.keys(value).length !== 2) return null;
  if (type === "text" && typeof text === "string") return { type, text };
  if (type === "json" && json !== undefined) return { type, value: json };
  if (type === "content" && Array.isArray(parts) && parts.every(isContentPart)) return { type, parts };
  return null;
}

function isContentPart(part: Json): part is TextPart | FilePart {
  if (!isJsonObject(part) || !(part.providerMetadata === undefined || isJsonObject(part.providerMetadata)))
    return false;
  if (part.type === "text") return typeof part.text === "string";
  return part.type === "file" && typeof part.mediaType === "string" && isFileData(part.data);
}

/** A tool must not refer to blobs: only Pawl writes files to the store. */
function isFileData(data: Json | undefined): boolean {
  return typeof data === "string" && !data.startsWith(blobScheme);
}

function toFileOutput(value: Uint8Array | ArrayBuffer): ToolOutput {
  const bytes =
    value instanceof ArrayBuffer
      ? new Uint8Array(value)
      : new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
  if (bytes.length === 0) return { type: "text", text: "[0 bytes of binary data]" };
  const beginning = String.fromCharCode(...bytes.subarray(0, 16));
  const mediaType = signatures.find(({ start }) => beginning.startsWith(start))?.mediaType;
  const data = encodeBase64(bytes);
  return { type: "content", parts: [{ type: "file", mediaType: mediaType ?? "application/octet-stream", data }] };
}

/** The first bytes of files, by media type. */
const signatures: readonly { readonly start: string; readonly mediaType: string }[] = [
  { start: "\x89PNG\r\n\x1a\n", mediaType: "image/png" },
  { start: "\xff\xd8\xff", mediaType: "image/jpeg" },
  { start: "GIF8", mediaType: "image/gif" },
  { start: "%PDF-", mediaType: "application/pdf" },
];

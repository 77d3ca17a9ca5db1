/**
 * Parses and checks JSON from outside before any other code sees it (SEC-12).
 *
 * 1. Size is checked before parsing, and depth before any function recurses into the value.
 * 2. Failures are data. Their messages tell a model what to correct, and are the same on every JavaScript engine.
 */
import { findJsonFault } from "./json-fault.js";
import type { Json } from "./message.js";

export type JsonLimits = {
  /** The maximum length of the text in UTF-8 bytes. Default 8 MiB. */
  readonly maxBytes?: number;
  /** The maximum nesting of objects and arrays. Default 200. */
  readonly maxDepth?: number;
};

export type JsonResult =
  | {
      /** Whether the text is acceptable JSON. */
      readonly ok: true;
      /** The parsed value. */
      readonly value: Json;
    }
  | {
      /** Whether the text is acceptable JSON. */
      readonly ok: false;
      /** What is wrong, and where. */
      readonly error: string;
    };

export const defaultMaxJsonBytes = 8 * 1024 * 1024;
export const defaultMaxJsonDepth = 200;

/** Keys that change an object's prototype if they are assigned carelessly. */
export function isDangerousKey(key: string): boolean {
  return key === "__proto__" || key === "constructor" || key === "prototype";
}

/**
 * Parses JSON text. The error names the fault, its position and a short excerpt.
 *
 * @example
 * ```ts
 * import { parseJson } from "pawl/core";
 *
 * const parsed = parseJson('{"order": "1041",}', { maxBytes: 64_000, maxDepth: 20 });
 * if (parsed.ok) console.log(parsed.value);
 * else console.error(parsed.error); // what is wrong, and at which position
 * ```
 */
export function parseJson(text: string, limits: JsonLimits = {}): JsonResult {
  const maxBytes = limits.maxBytes ?? defaultMaxJsonBytes;
  const maxDepth = limits.maxDepth ?? defaultMaxJsonDepth;
  if (exceedsByteLength(text, maxBytes)) return failure(tooLarge(maxBytes));
  const excessDepthIndex = findExcessDepth(text, maxDepth);
  if (excessDepthIndex !== -1) return failure(`${tooDeep(maxDepth)} (at position ${excessDepthIndex})`);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    const fault = findJsonFault(text);
    return failure(`${fault.message} at position ${fault.position}${excerpt(text, fault.position)}`);
  }
  const fault = findForbidden(value, maxDepth, []);
  return fault === null ? { ok: true, value: value as Json } : failure(fault);
}

/** Applies the checks of `parseJson` to a value that is already parsed. Only plain data passes. */
export function checkJson(value: unknown, limits: JsonLimits = {}): JsonResult {
  const maxBytes = limits.maxBytes ?? defaultMaxJsonBytes;
  const fault = findForbidden(value, limits.maxDepth ?? defaultMaxJsonDepth, []);
  if (fault !== null) return failure(fault);
  if (exceedsByteLength(JSON.stringify(value), maxBytes)) return failure(tooLarge(maxBytes));
  return { ok: true, value: value as Json };
}

/** A deep copy. It recurses, so it is only for values that were checked. */
export function copyJson(value: Json): Json {
  if (value === null || typeof value !== "object") return value;
  if (Array.isArray(value)) return value.map((item: Json) => copyJson(item));
  const copy: { [key: string]: Json } = {};
  for (const [key, inner] of Object.entries(value as { readonly [key: string]: Json })) copy[key] = copyJson(inner);
  return copy;
}

/**
 * The same string for equal values, whatever the order of their keys. It recurses, so it is only for values that were checked.
 *
 * @example
 * ```ts
 * import { canonicalJson } from "pawl/core";
 *
 * canonicalJson({ b: 1, a: [2] }) === canonicalJson({ a: [2], b: 1 }); // true
 * ```
 */
export function canonicalJson(value: Json): string {
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map((item: Json) => canonicalJson(item)).join(",")}]`;
  const object = value as { readonly [key: string]: Json };
  const members = Object.keys(object)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${canonicalJson(object[key] ?? null)}`);
  return `{${members.join(",")}}`;
}

/** Whether two values have the same canonical JSON, without building it. It recurses, so it is only for values that were checked. */
export function isSameJson(a: Json, b: Json): boolean {
  if (a === b) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (Array.isArray(a) || Array.isArray(b)) {
    if (!Array.isArray(a) || !Array.isArray(b) || a.length !== b.length) return false;
    return a.every((item: Json, index) => isSameJson(item, b[index]));
  }
  const [left, right] = [a, b] as { readonly [key: string]: Json }[];
  if (left === undefined || right === undefined) return false;
  const keys = Object.keys(left);
  if (keys.length !== Object.keys(right).length) return false;
  return keys.every((key) => Object.hasOwn(right, key) && isSameJson(left[key] ?? null, right[key] ?? null));
}

/** Formats a path inside a value: `files[0].path`. */
export function formatPath(path: readonly PropertyKey[]): string {
  let text = "";
  for (const key of path) {
    if (typeof key === "number") text += `[${key}]`;
    else if (typeof key === "string" && /^[\p{L}_$][\p{L}\p{N}_$-]*$/u.test(key)) text += text === "" ? key : `.${key}`;
    else text += `[${typeof key === "string" ? JSON.stringify(key) : String(key)}]`;
  }
  return text;
}

function failure(error: string): JsonResult {
  return { ok: false, error };
}

function tooLarge(maxBytes: number): string {
  return `larger than ${maxBytes} bytes`;
}

function tooDeep(maxDepth: number): string {
  return `nested deeper than ${maxDepth} levels`;
}

function exceedsByteLength(text: string, maxBytes: number): boolean {
  if (text.length > maxBytes) return true;
  if (text.length * 3 <= maxBytes) return false;
  let bytes = 0;
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    // A surrogate pair takes four bytes in UTF-8, so each half counts as two.
    bytes += code < 0x80 ? 1 : code < 0x800 || (code >= 0xd800 && code <= 0xdfff) ? 2 : 3;
  }
  return bytes > maxBytes;
}

/** The position at which the text exceeds the allowed depth; -1 if it does not. */
function findExcessDepth(text: string, maxDepth: number): number {
  // A shorter text has too few brackets: each opening bracket needs a closing one, or the text does not parse.
  if (text.length < 2 * (maxDepth + 1)) return -1;
  let depth = 0;
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code === quote) index = findStringEnd(text, index);
    else if (code === openBracket || code === openBrace) {
      depth += 1;
      if (depth > maxDepth) return index;
    } else if (code === closeBracket || code === closeBrace) depth -= 1;
  }
  return -1;
}

const quote = 0x22;
const backslash = 0x5c;
const openBracket = 0x5b;
const closeBracket = 0x5d;
const openBrace = 0x7b;
const closeBrace = 0x7d;

/** The index of the closing quote of the string that opens at `start`; the length of the text if the string is not closed. */
function findStringEnd(text: string, start: number): number {
  for (let index = start + 1; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code === backslash) index += 1;
    else if (code === quote) return index;
  }
  return text.length;
}

function findForbidden(value: unknown, depthLeft: number, path: PropertyKey[]): string | null {
  if (typeof value !== "object") {
    if (typeof value === "string" || typeof value === "boolean") return null;
    if (typeof value === "number" && Number.isFinite(value)) return null;
    const kind = typeof value === "number" ? "a number that is not finite" : `of type ${typeof value}`;
    return `${describePath(path)} is ${kind}, which JSON does not have`;
  }
  if (value === null) return null;
  if (depthLeft === 0) return `${describePath(path)} is ${tooDeep(path.length)}`;
  if (Array.isArray(value)) return findForbiddenInArray(value, depthLeft, path);
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return `${describePath(path)} is not a plain object`;
  for (const [key, member] of Object.entries(value)) {
    if (isDangerousKey(key)) return `${describePath(path)} has the key "${key}", which is refused`;
    path.push(key);
    const fault = findForbidden(member, depthLeft - 1, path);
    if (fault !== null) return fault;
    path.pop();
  }
  return null;
}

function findForbiddenInArray(items: readonly unknown[], depthLeft: number, path: PropertyKey[]): string | null {
  for (let index = 0; index < items.length; index++) {
    path.push(index);
    const fault = findForbidden(items[index], depthLeft - 1, path);
    if (fault !== null) return fault;
    path.pop();
  }
  return null;
}

function describePath(path: readonly PropertyKey[]): string {
  if (path.length === 0) return "the value";
  return path.length > 10 ? `${formatPath(path.slice(0, 10))}…` : formatPath(path);
}

function excerpt(text: string, position: number): string {
  if (text.trim() === "") return "";
  const from = Math.max(0, position - 30);
  const to = Math.min(text.length, position + 10);
  const part = `${from > 0 ? "…" : ""}${text.slice(from, to)}${to < text.length ? "…" : ""}`;
  return `, near ${JSON.stringify(part)}`;
}

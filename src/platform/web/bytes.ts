/**
 * String and byte conversions that use Web APIs only.
 */
import type * as node from "../bytes.js";

const encoder = new TextEncoder();
/** More arguments in one call could overflow the stack. */
const maxArguments = 8_192;

export const byteLength: typeof node.byteLength = (text) => encoder.encode(text).length;

export const encodeBase64: typeof node.encodeBase64 = (bytes) => {
  const parts: string[] = [];
  for (let start = 0; start < bytes.length; start += maxArguments)
    parts.push(String.fromCharCode(...bytes.subarray(start, start + maxArguments)));
  return btoa(parts.join(""));
};

export const decodeBase64: typeof node.decodeBase64 = (text) => {
  const digits = text
    .replaceAll("-", "+")
    .replaceAll("_", "/")
    .replace(/[^A-Za-z0-9+/]+/g, "");
  // A single trailing digit has too few bits for a byte.
  const characters = atob(digits.length % 4 === 1 ? digits.slice(0, -1) : digits);
  return Uint8Array.from(characters, (character) => character.charCodeAt(0));
};

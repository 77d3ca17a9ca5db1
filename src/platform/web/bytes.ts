/**
 * Texts and bytes with Web APIs only.
 */
import type * as node from "../bytes.js";

const encoder = new TextEncoder();
/** More arguments of one call may overflow the stack. */
const mostArguments = 8_192;

export const byteLength: typeof node.byteLength = (text) => encoder.encode(text).length;

export const base64Of: typeof node.base64Of = (bytes) => {
  const parts: string[] = [];
  for (let at = 0; at < bytes.length; at += mostArguments)
    parts.push(String.fromCharCode(...bytes.subarray(at, at + mostArguments)));
  return btoa(parts.join(""));
};

export const bytesOfBase64: typeof node.bytesOfBase64 = (text) => {
  const digits = text
    .replaceAll("-", "+")
    .replaceAll("_", "/")
    .replace(/[^A-Za-z0-9+/]+/g, "");
  // One digit alone has too few bits for a byte.
  const characters = atob(digits.length % 4 === 1 ? digits.slice(0, -1) : digits);
  return Uint8Array.from(characters, (character) => character.charCodeAt(0));
};

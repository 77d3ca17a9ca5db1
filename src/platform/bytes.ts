/**
 * String and byte conversions for which Node is several times faster than the Web APIs.
 */

/** The length of a string in UTF-8 bytes. A lone surrogate counts as three bytes. */
export function byteLength(text: string): number {
  return Buffer.byteLength(text);
}

export function encodeBase64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64");
}

/** Accepts both base64 alphabets, with or without padding. Other characters are ignored. */
export function decodeBase64(text: string): Uint8Array {
  return Buffer.from(text, "base64");
}

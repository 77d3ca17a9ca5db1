/**
 * Conversions of strings and bytes for which Node is several times faster than the Web APIs.
 */

/** The length of a text in UTF-8, in bytes. A lone surrogate takes three. */
export function byteLength(text: string): number {
  return Buffer.byteLength(text);
}

export function encodeBase64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64");
}

/** Accepts both alphabets of base64, with padding or without. Other characters are ignored. */
export function decodeBase64(text: string): Uint8Array {
  return Buffer.from(text, "base64");
}

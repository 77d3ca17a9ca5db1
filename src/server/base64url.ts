/**
 * Bytes as text that needs no escape in a URL, a header or a cookie (RFC 4648, section 5), without padding.
 */
export function toBase64url(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "");
}

/** @throws Error if the text is none that `toBase64url` gives */
export function fromBase64url(text: string): Uint8Array {
  return Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (character) => character.charCodeAt(0));
}

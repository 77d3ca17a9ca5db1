/**
 * Converts strings to bytes and back without loss.
 *
 * The bytes are UTF-8. A JavaScript string may contain a lone surrogate, which UTF-8 does not allow; it is written as the three bytes of
 * its code point. Every string therefore survives the round trip, and every offset in the bytes corresponds to a position in the text.
 */

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
const loneSurrogates = /[\uD800-\uDFFF]/gu;

export function encodeText(text: string): Uint8Array {
  const bytes = encoder.encode(text);
  let from = 0;
  let offset = 0;
  for (const { index, 0: surrogate } of text.matchAll(loneSurrogates)) {
    offset += encoder.encode(text.slice(from, index)).length;
    const code = surrogate.charCodeAt(0);
    bytes.set([0xe0 | (code >> 12), 0x80 | ((code >> 6) & 0x3f), 0x80 | (code & 0x3f)], offset);
    offset += 3;
    from = index + 1;
  }
  return bytes;
}

/** Invalid UTF-8 becomes U+FFFD. */
export function decodeText(bytes: Uint8Array): string {
  let text = "";
  let from = 0;
  for (let at = bytes.indexOf(0xed); at !== -1; at = bytes.indexOf(0xed, at + 1)) {
    const [second = 0, third = 0] = [bytes[at + 1], bytes[at + 2]];
    if (second < 0xa0 || second > 0xbf || (third & 0xc0) !== 0x80) continue;
    const surrogate = String.fromCharCode(0xd000 | ((second & 0x3f) << 6) | (third & 0x3f));
    text += decoder.decode(bytes.subarray(from, at)) + surrogate;
    from = at + 3;
  }
  return text + decoder.decode(from === 0 ? bytes : bytes.subarray(from));
}

/** The index of the first byte of the character that contains the byte at `index`. */
export function findCharacterStart(bytes: Uint8Array, index: number): number {
  for (let start = index; start > index - 4 && start > 0; start--) if (!isContinuation(bytes[start])) return start;
  return index;
}

/** Whether a byte continues a UTF-8 character that an earlier byte began. */
export function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80;
}

const newline = 10;

/** The number of lines, including a last line without a newline. */
export function countLines(bytes: Uint8Array): number {
  if (bytes.length === 0) return 0;
  return lineNumberAt(bytes, bytes.length - 1);
}

/** The number of the line that contains a byte. The first line is 1. */
export function lineNumberAt(bytes: Uint8Array, index: number): number {
  let line = 1;
  for (let at = bytes.indexOf(newline); at !== -1 && at < index; at = bytes.indexOf(newline, at + 1)) line += 1;
  return line;
}

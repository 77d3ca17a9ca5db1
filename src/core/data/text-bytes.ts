/**
 * Texts as bytes and back, exactly: UTF-8, in which half of a character, as JavaScript's texts may have, is the three bytes of
 * its number. What was put in comes out, and a place in the bytes is a place in the text.
 */

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
const halves = /[\uD800-\uDFFF]/gu;

export function bytesOfText(text: string): Uint8Array {
  const bytes = encoder.encode(text);
  let from = 0;
  let offset = 0;
  for (const { index, 0: half } of text.matchAll(halves)) {
    offset += encoder.encode(text.slice(from, index)).length;
    const code = half.charCodeAt(0);
    bytes.set([0xe0 | (code >> 12), 0x80 | ((code >> 6) & 0x3f), 0x80 | (code & 0x3f)], offset);
    offset += 3;
    from = index + 1;
  }
  return bytes;
}

/** Bytes that are no text stand as U+FFFD. */
export function textOfBytes(bytes: Uint8Array): string {
  let text = "";
  let from = 0;
  for (let at = bytes.indexOf(0xed); at !== -1; at = bytes.indexOf(0xed, at + 1)) {
    const [second = 0, third = 0] = [bytes[at + 1], bytes[at + 2]];
    if (second < 0xa0 || second > 0xbf || (third & 0xc0) !== 0x80) continue;
    const half = String.fromCharCode(0xd000 | ((second & 0x3f) << 6) | (third & 0x3f));
    text += decoder.decode(bytes.subarray(from, at)) + half;
    from = at + 3;
  }
  return text + decoder.decode(from === 0 ? bytes : bytes.subarray(from));
}

/** The start of the character that the byte at `index` belongs to. */
export function startOfCharacter(bytes: Uint8Array, index: number): number {
  for (let start = index; start > index - 4 && start > 0; start--) if (!isContinuation(bytes[start])) return start;
  return index;
}

function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80;
}

const newline = 10;

/** Lines, a last one without an end included. */
export function countLines(bytes: Uint8Array): number {
  if (bytes.length === 0) return 0;
  return lineAt(bytes, bytes.length - 1);
}

/** The number of the line that a byte is in, from 1. */
export function lineAt(bytes: Uint8Array, index: number): number {
  let line = 1;
  for (let at = bytes.indexOf(newline); at !== -1 && at < index; at = bytes.indexOf(newline, at + 1)) line += 1;
  return line;
}

/** Where a line begins, from 1; the length of the bytes where there is no such line. */
export function startOfLine(bytes: Uint8Array, line: number): number {
  let start = 0;
  for (let number = 1; number < line; number++) {
    const end = bytes.indexOf(newline, start);
    if (end === -1) return bytes.length;
    start = end + 1;
  }
  return start;
}

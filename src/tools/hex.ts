/**
 * Bytes in hexadecimal, for those who can read nothing else of them.
 */
const bytesInLine = 16;
/** The place, sixteen pairs of digits with a space before each, and the end of the line. */
const charactersInLine = 8 + bytesInLine * 3 + 1;

/** Lines for the bytes from `from` on, as many as `most` characters take; `to` is where they end. */
export function hexLines(
  bytes: Uint8Array,
  from: number,
  end: number,
  most: number,
): { readonly text: string; readonly to: number } {
  const to = Math.min(end, from + Math.max(1, Math.floor(most / charactersInLine)) * bytesInLine);
  const lines: string[] = [];
  for (let at = from; at < to; at += bytesInLine) {
    const pairs = [...bytes.subarray(at, Math.min(at + bytesInLine, to))].map((byte) => ` ${hex(byte, 2)}`);
    lines.push(`${hex(at, 8)}${pairs.join("")}`);
  }
  return { text: lines.join("\n"), to };
}

function hex(value: number, digits: number): string {
  return value.toString(16).padStart(digits, "0");
}

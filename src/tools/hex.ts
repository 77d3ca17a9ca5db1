/**
 * Bytes in hexadecimal: a model's view of a binary output.
 */
const bytesInLine = 16;
/** The offset, sixteen pairs of digits with a space before each, and the newline. */
const charactersInLine = 8 + bytesInLine * 3 + 1;

/** Formats bytes from `from` on, up to `maxCharacters` characters. `to` is the end of the formatted bytes. */
export function hexLines(
  bytes: Uint8Array,
  from: number,
  end: number,
  maxCharacters: number,
): { readonly text: string; readonly to: number } {
  const to = Math.min(end, from + Math.max(1, Math.floor(maxCharacters / charactersInLine)) * bytesInLine);
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

/**
 * Formats bytes in hexadecimal, as a model's view of a binary output.
 */
const bytesPerLine = 16;
/** The offset, sixteen pairs of digits with a space before each, and the newline. */
const charactersPerLine = 8 + bytesPerLine * 3 + 1;

/** Formats bytes from `from` on, up to `maxCharacters` characters. `to` is the end of the formatted bytes. */
export function formatHexDump(
  bytes: Uint8Array,
  from: number,
  end: number,
  maxCharacters: number,
): { readonly text: string; readonly to: number } {
  const to = Math.min(end, from + Math.max(1, Math.floor(maxCharacters / charactersPerLine)) * bytesPerLine);
  const lines: string[] = [];
  for (let at = from; at < to; at += bytesPerLine) {
    const pairs = [...bytes.subarray(at, Math.min(at + bytesPerLine, to))].map((byte) => ` ${toHex(byte, 2)}`);
    lines.push(`${toHex(at, 8)}${pairs.join("")}`);
  }
  return { text: lines.join("\n"), to };
}

function toHex(value: number, digits: number): string {
  return value.toString(16).padStart(digits, "0");
}

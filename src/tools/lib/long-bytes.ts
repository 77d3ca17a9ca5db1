/**
 * Operations on the bytes of long texts, in pieces that leave the event loop free.
 */
import { findCharacterStart } from "../../core/data/text-bytes.js";
import { type Pace, pieceSize } from "./pace.js";

const newline = 10;

/** Decodes piece by piece. No piece ends within a character. */
export async function decodeInPieces(
  bytes: Uint8Array,
  decode: (piece: Uint8Array) => string,
  pace: Pace,
): Promise<string> {
  const parts: string[] = [];
  for (let from = 0; from < bytes.length; ) {
    const end = from + pieceSize;
    const to = end >= bytes.length ? bytes.length : findCharacterStart(bytes, end);
    parts.push(decode(bytes.subarray(from, to)));
    from = to;
    await pace();
  }
  return parts.join("");
}

/** Counts the line endings from one byte up to, but not including, another. */
export async function countLineEnds(bytes: Uint8Array, from: number, to: number, pace: Pace): Promise<number> {
  let count = 0;
  for (let start = from; start < to; start += pieceSize) {
    const end = Math.min(to, start + pieceSize);
    for (let at = start; at < end; at += 1) if (bytes[at] === newline) count += 1;
    await pace();
  }
  return count;
}

/** The index at which a line begins, with lines counted from 1. The length of the bytes if there is no such line. */
export async function findLineStartInBytes(bytes: Uint8Array, line: number, pace: Pace): Promise<number> {
  if (line <= 1) return 0;
  let lines = 1;
  for (let start = 0; start < bytes.length; start += pieceSize) {
    const end = Math.min(bytes.length, start + pieceSize);
    for (let at = start; at < end; at += 1) {
      if (bytes[at] !== newline) continue;
      lines += 1;
      if (lines === line) return at + 1;
    }
    await pace();
  }
  return bytes.length;
}

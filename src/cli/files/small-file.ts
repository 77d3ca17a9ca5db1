/**
 * Reads files that should be small: settings, rules, files that are attached to a message.
 *
 * 1. A file is opened once and checked before it is read. At most `maxBytes` are in memory, even if the file grows meanwhile.
 * 2. Anything but a regular file is refused. A pipe might never end.
 */

import { closeSync, constants, fstatSync, openSync, readSync, type Stats } from "node:fs";
import { getErrorMessage } from "../../core/data/error-message.js";
import { formatNumber } from "../../view/format-number.js";

export type SmallFile =
  | { readonly type: "file"; readonly bytes: Buffer }
  | { readonly type: "refused"; readonly why: string };

/**
 * @param flags additional flags of `open`
 * @param isExpectedFile whether the open file is the intended one
 * @throws what `open` and `read` throw
 */
export function readSmallFile(
  path: string,
  maxBytes: number,
  flags = 0,
  isExpectedFile: (opened: Stats, file: number) => boolean = () => true,
): SmallFile {
  // Non-blocking: opening a pipe must not wait for its writer.
  const file = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0) | flags);
  try {
    const stats = fstatSync(file);
    if (!stats.isFile()) return { type: "refused", why: "it is not a regular file" };
    if (!isExpectedFile(stats, file)) return { type: "refused", why: "it was replaced while it was being opened" };
    const bytes = stats.size > maxBytes ? null : readBounded(file, maxBytes, stats.size);
    if (bytes !== null) return { type: "file", bytes };
    return { type: "refused", why: `it is larger than ${formatNumber(maxBytes)} bytes` };
  } finally {
    closeSync(file);
  }
}

/** @param expected the expected size; bytes. @returns null if the file has more than `maxBytes` */
function readBounded(file: number, maxBytes: number, expected: number): Buffer | null {
  const pieces: Buffer[] = [];
  let length = 0;
  // One byte more than expected, so that the end of the file is seen in the same read.
  for (let nextBytes = expected + 1; ; nextBytes = pieceBytes) {
    const piece = Buffer.alloc(Math.min(nextBytes, maxBytes + 1 - length));
    const read = readSync(file, piece);
    if (read === 0) return Buffer.concat(pieces, length);
    pieces.push(piece.subarray(0, read));
    length += read;
    if (length > maxBytes) return null;
  }
}

const pieceBytes = 64 * 1024;

/**
 * Reads a UTF-8 file, and keeps a byte order mark; null if there is no file.
 * @throws the error that `createError` returns for the reason
 */
export function readSmallText(path: string, maxBytes: number, createError: (why: string) => Error): string | null {
  let result: SmallFile;
  try {
    result = readSmallFile(path, maxBytes);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw createError(getErrorMessage(error));
  }
  if (result.type === "refused") throw createError(result.why);
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(result.bytes);
  } catch {
    throw createError("it is not UTF-8 text");
  }
}

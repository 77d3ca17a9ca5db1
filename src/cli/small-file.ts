/**
 * Reads files that are small if they are what they should be: settings, rules, texts that join a message.
 *
 * 1. A file is opened once and looked at before it is read. No more than its bound is ever in memory, also if it grows meanwhile.
 * 2. What is no regular file is refused. A pipe would never end.
 */
import { closeSync, constants, fstatSync, openSync, readSync, type Stats } from "node:fs";

export type SmallFile =
  | { readonly type: "file"; readonly bytes: Buffer }
  | { readonly type: "refused"; readonly why: string };

/**
 * @param flags of `open`, beside reading
 * @param isMeant whether the open file is the one that was meant
 * @throws what `open` and `read` throw
 */
export function readSmallFile(
  path: string,
  mostBytes: number,
  flags = 0,
  isMeant: (opened: Stats, file: number) => boolean = () => true,
): SmallFile {
  // A pipe is opened without waiting for its writer.
  const file = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0) | flags);
  try {
    const stats = fstatSync(file);
    if (!stats.isFile()) return { type: "refused", why: "it is no file" };
    if (!isMeant(stats, file)) return { type: "refused", why: "something else was put in its place meanwhile" };
    const bytes = stats.size > mostBytes ? null : readAtMost(file, mostBytes, stats.size);
    if (bytes !== null) return { type: "file", bytes };
    return { type: "refused", why: `it is larger than ${mostBytes.toLocaleString("en-US")} bytes` };
  } finally {
    closeSync(file);
  }
}

/** @param expected bytes; the file may have changed since. @returns null if there are more than `mostBytes` */
function readAtMost(file: number, mostBytes: number, expected: number): Buffer | null {
  const pieces: Buffer[] = [];
  let length = 0;
  // One byte more than expected, so that the end is seen in the same read.
  for (let room = expected + 1; ; room = pieceBytes) {
    const piece = Buffer.alloc(Math.min(room, mostBytes + 1 - length));
    const read = readSync(file, piece);
    if (read === 0) return Buffer.concat(pieces, length);
    pieces.push(piece.subarray(0, read));
    length += read;
    if (length > mostBytes) return null;
  }
}

const pieceBytes = 64 * 1024;

/** The text of a file, as its bytes are in UTF-8; null if there is no file. @throws what `refuse` makes of the reason */
export function readSmallText(path: string, mostBytes: number, refuse: (why: string) => Error): string | null {
  let found: SmallFile;
  try {
    found = readSmallFile(path, mostBytes);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw refuse(error instanceof Error ? error.message : String(error));
  }
  if (found.type === "refused") throw refuse(found.why);
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(found.bytes);
  } catch {
    throw refuse("it is no text in UTF-8");
  }
}

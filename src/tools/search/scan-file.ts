/**
 * Reads a file for a search, if its bytes may contain a match.
 *
 * Small files are read synchronously. The thread pool would take several times as long for a project's many small files, and the
 * walk yields to the event loop every few milliseconds.
 */
import { Buffer } from "node:buffer";
import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import { assertNotReplaced, type Folder, openFile, pathIn } from "../files/folder.js";
import { maxFileBytes } from "../files/text-file.js";
import type { Pace } from "../lib/pace.js";
import { mayMatchFile, mayMatchInPieces, type SearchFilter } from "./search-filter.js";

/** `large`: the file may contain a match, but is too large to be searched for lines. */
export type ScanResult = Buffer | "no match" | "large" | "unreadable";

const maxSmallBytes = 128 * 1024;

/** Larger files are skipped; bytes. */
const maxScannedBytes = 1024 ** 3;

/** The buffer of one read. Its content is used before the next turn of the event loop. */
const readBuffer = Buffer.allocUnsafe(maxSmallBytes + 1);

const flags = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

/** @throws the reason of an abort */
export async function scanFile(
  { folder, name }: { readonly folder: Folder; readonly name: string },
  filter: SearchFilter | null,
  pace: Pace,
  smallResult = scanSmallFile(folder, name, filter),
): Promise<ScanResult> {
  if (typeof smallResult === "string" && smallResult !== "not small") return smallResult;
  try {
    if (smallResult === "not small") return await scanOtherFile(folder, name, filter, pace);
    await assertNotReplaced(folder);
    return smallResult;
  } catch (error) {
    await pace();
    if (error instanceof Error) return "unreadable";
    throw error;
  }
}

/** The first, synchronous scan. Its bytes are valid only after `scanFile` has checked that the folder was not replaced. */
export function scanSmallFile(folder: Folder, name: string, filter: SearchFilter | null): ScanResult | "not small" {
  let file: number;
  try {
    file = openSync(pathIn(folder, name), flags);
  } catch {
    return "unreadable";
  }
  try {
    const length = readSync(file, readBuffer, 0, readBuffer.length, null);
    if (length > maxSmallBytes) return "not small";
    const bytes = readBuffer.subarray(0, length);
    if (filter !== null && !filter.mayMatchBytes(bytes)) return "no match";
    // The entry was a file when its folder was read. It may have been replaced since.
    return fstatSync(file).isFile() ? Buffer.from(bytes) : "unreadable";
  } catch {
    return "unreadable";
  } finally {
    closeSync(file);
  }
}

async function scanOtherFile(
  folder: Folder,
  name: string,
  filter: SearchFilter | null,
  pace: Pace,
): Promise<ScanResult> {
  const handle = await openFile(folder, name);
  if (handle === null) return "unreadable";
  try {
    const { size } = await handle.stat();
    if (size > maxScannedBytes) return "no match";
    if (size > maxFileBytes)
      return filter === null || (await mayMatchFile(filter, handle, pace)) ? "large" : "no match";
    const bytes = await handle.readFile();
    return filter === null || (await mayMatchInPieces(filter, bytes, pace)) ? bytes : "no match";
  } finally {
    await handle.close();
  }
}

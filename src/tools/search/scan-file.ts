/**
 * Reads a file that a search comes to, if its bytes may contain what is sought.
 *
 * Small files are read synchronously. The thread pool would take several times as long for the many small files of a
 * project, and the walk gives the event loop back every few milliseconds.
 */
import { Buffer } from "node:buffer";
import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import { assertNotReplaced, type Folder, openFile, pathIn } from "../files/folder.js";
import { maxFileBytes } from "../files/text-file.js";
import type { Pace } from "../lib/pace.js";
import { mayMatchFile, mayMatchInPieces, type SearchFilter } from "./search-filter.js";

/** `large`: it may contain what is sought, but is too large to be searched for lines. */
export type ScanResult = Buffer | "no match" | "large" | "unreadable";

const maxSmallBytes = 128 * 1024;

/** A file of more bytes is passed over. */
const maxScannedBytes = 1024 ** 3;

/** What one read gives. It is used up before the next turn of the event loop. */
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

/** The first look, which does not wait. The bytes count only after `scanFile` has checked where they came from. */
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
    // It was a file when its folder was read.
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

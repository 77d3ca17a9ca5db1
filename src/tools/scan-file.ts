/**
 * Reads a file that a search comes to, if its bytes may contain what is sought.
 *
 * Small files are read synchronously. The thread pool would take several times as long for the many small files of a
 * project, and the walk gives the event loop back every few milliseconds.
 */
import { Buffer } from "node:buffer";
import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import { assertInPlace, type Folder, openFile, pathIn } from "./folder.js";
import type { Pace } from "./pace.js";
import { mayBeInAny, mayBeInFile, type SearchFilter } from "./search-filter.js";
import { maxFileBytes } from "./text-file.js";

/** `large`: it may contain what is sought, but is too large to be searched for lines. */
export type Scanned = Buffer | "no match" | "large" | "unreadable";

const smallBytes = 128 * 1024;

/** A file of more bytes is passed over. */
const maxScannedBytes = 1024 ** 3;

/** What one read gives. It is used up before the next turn of the event loop. */
const shared = Buffer.allocUnsafe(smallBytes + 1);

const flags = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

/** @throws the reason of an abort */
export async function scanFile(
  { folder, name }: { readonly folder: Folder; readonly name: string },
  filter: SearchFilter | null,
  pace: Pace,
  small = scanSmall(folder, name, filter),
): Promise<Scanned> {
  if (typeof small === "string" && small !== "not small") return small;
  try {
    if (small === "not small") return await scanOther(folder, name, filter, pace);
    await assertInPlace(folder);
    return small;
  } catch (error) {
    await pace();
    if (error instanceof Error) return "unreadable";
    throw error;
  }
}

/** The first look, which does not wait. The bytes count only after `scanFile` has checked where they came from. */
export function scanSmall(folder: Folder, name: string, filter: SearchFilter | null): Scanned | "not small" {
  let file: number;
  try {
    file = openSync(pathIn(folder, name), flags);
  } catch {
    return "unreadable";
  }
  try {
    const length = readSync(file, shared, 0, shared.length, null);
    if (length > smallBytes) return "not small";
    const bytes = shared.subarray(0, length);
    if (filter !== null && !filter.mayBeIn(bytes)) return "no match";
    // It was a file when its folder was read.
    return fstatSync(file).isFile() ? Buffer.from(bytes) : "unreadable";
  } catch {
    return "unreadable";
  } finally {
    closeSync(file);
  }
}

async function scanOther(folder: Folder, name: string, filter: SearchFilter | null, pace: Pace): Promise<Scanned> {
  const handle = await openFile(folder, name);
  if (handle === null) return "unreadable";
  try {
    const { size } = await handle.stat();
    if (size > maxScannedBytes) return "no match";
    if (size > maxFileBytes) return filter === null || (await mayBeInFile(filter, handle, pace)) ? "large" : "no match";
    const bytes = await handle.readFile();
    return filter === null || (await mayBeInAny(filter, bytes, pace)) ? bytes : "no match";
  } finally {
    await handle.close();
  }
}

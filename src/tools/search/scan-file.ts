/**
 * Reads a file for a search, if its bytes may contain a match.
 *
 * Small files are read synchronously. The thread pool would take several times as long for a project's many small files, and the
 * walk yields to the event loop every few milliseconds.
 */
import { Buffer } from "node:buffer";
import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import { sep } from "node:path";
import { assertNotReplaced, type Folder, openFile, pathIn } from "../files/folder.js";
import { maxFileBytes } from "../files/text-file.js";
import type { Pace } from "../lib/pace.js";
import { mayMatchFile, mayMatchInPieces, type SearchFilter } from "./search-filter.js";

/** `large`: the file may contain a match, but is too large to search line by line. */
export type ScanResult = Buffer | "no match" | "large" | "unreadable";

const maxSmallBytes = 128 * 1024;

/** Larger files are skipped, in bytes. */
const maxScannedBytes = 1024 ** 3;

/** Small files are searched together once they have this many bytes. */
const minJointBytes = 64 * 1024;

/** The shared buffer for several small files. Its content is used before the next turn of the event loop. */
const jointBuffer = Buffer.allocUnsafe(minJointBytes + maxSmallBytes + 1);

const flags = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

/**
 * Finds the files of a folder that may contain a match. This is only a filter:
 *
 * 1. Files are opened by their path, because a path through the folder's descriptor takes the system a quarter longer. So another
 *    process can trick it into reading a file elsewhere, by replacing a folder with a link. Like ripgrep, it can therefore miss a file,
 *    but `scanFile` opens the candidates through the open folder, and no other content is ever shown.
 * 2. Several files are read into one buffer and searched at once, because starting a search costs more than searching a small file.
 *
 * @returns the names, in the order of `names`
 */
export function findCandidates(
  { path }: Folder,
  names: readonly string[],
  { mayMatchBytes }: SearchFilter,
): readonly string[] {
  const candidates: string[] = [];
  let [pending, length]: [PendingFile[], number] = [[], 0];
  const searchPending = () => {
    if (mayMatchBytes(jointBuffer.subarray(0, length)))
      for (const { name, start, end } of pending)
        if (mayMatchBytes(jointBuffer.subarray(start, end))) candidates.push(name);
    [pending, length] = [[], 0];
  };
  for (const name of names) {
    if (length >= minJointBytes) searchPending();
    const bytes = readSmallFileInto(jointBuffer, length, `${path}${sep}${name}`);
    if (bytes === null) {
      searchPending();
      candidates.push(name);
      continue;
    }
    pending.push({ name, start: length, end: length + bytes });
    // No text of a filter contains a line break, so no match can span two files.
    jointBuffer[length + bytes] = newline;
    length += bytes + 1;
  }
  searchPending();
  return candidates;
}

type PendingFile = { readonly name: string; readonly start: number; readonly end: number };

const newline = 10;

/** The number of bytes; null for a file that is not small, or cannot be read. */
function readSmallFileInto(buffer: Buffer, offset: number, path: string): number | null {
  let file: number;
  try {
    file = openSync(path, flags);
  } catch {
    return null;
  }
  try {
    const bytes = readSync(file, buffer, offset, maxSmallBytes + 1, null);
    return bytes > maxSmallBytes ? null : bytes;
  } catch {
    return null;
  } finally {
    closeSync(file);
  }
}

/** @throws the signal's reason after an abort */
export async function scanFile(
  { folder, name }: { readonly folder: Folder; readonly name: string },
  filter: SearchFilter | null,
  pace: Pace,
): Promise<ScanResult> {
  const smallResult = scanSmallFile(folder, name, filter);
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

/** The first, synchronous scan. Its bytes are valid only after `scanFile` has verified that the folder was not replaced. */
function scanSmallFile(folder: Folder, name: string, filter: SearchFilter | null): ScanResult | "not small" {
  let file: number;
  try {
    file = openSync(pathIn(folder, name), flags);
  } catch {
    return "unreadable";
  }
  try {
    const length = readSync(file, jointBuffer, 0, maxSmallBytes + 1, null);
    if (length > maxSmallBytes) return "not small";
    const bytes = jointBuffer.subarray(0, length);
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

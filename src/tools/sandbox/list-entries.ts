/**
 * Lists folders that commands can fill, without blocking the process.
 */
import type { Dirent } from "node:fs";
import { opendir } from "node:fs/promises";

/** A folder with more entries is not listed. */
const maxEntries = 1_000_000;
/** The number of entries that are read at a time. */
const batchSize = 4_096;

/**
 * Lists the accepted entries of a folder.
 *
 * @throws Error if the folder cannot be read, or has over a million entries; the signal's reason if it is aborted
 */
export async function listEntries(
  folder: string,
  accepts: (entry: Dirent) => boolean,
  signal?: AbortSignal,
): Promise<readonly Dirent[]> {
  const found: Dirent[] = [];
  let examined = 0;
  signal?.throwIfAborted();
  for await (const entry of await opendir(folder, { bufferSize: batchSize })) {
    if (examined % batchSize === 0) signal?.throwIfAborted();
    examined += 1;
    if (examined > maxEntries)
      throw new Error(`The sandbox cannot examine ${folder}: it has more than ${maxEntries} entries.`);
    if (accepts(entry)) found.push(entry);
  }
  return found;
}

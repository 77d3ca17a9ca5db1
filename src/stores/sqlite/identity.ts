/**
 * Detects that the file of an open database was deleted or replaced. SQLite itself keeps using the file that it has open, and its commits
 * are lost with that file.
 *
 * The inode number of an open file is not reused, so a file with the same number is the same file.
 */
import { type Stats, statSync } from "node:fs";
import { PawlError } from "../../errors.js";

/** Throws a PawlError `store_failed` if the file is no longer the one that was opened. */
export type IdentityCheck = () => void;

export const noIdentityCheck: IdentityCheck = () => {};

/** Call this once the tables exist: if the file has a write-ahead log, the log then also exists. */
export function createIdentityCheck(file: string): IdentityCheck {
  const openedFiles = [file, `${file}-wal`].flatMap((path) => {
    const stats = readStats(path);
    return stats === undefined ? [] : [{ path, stats }];
  });
  return () => {
    for (const { path, stats } of openedFiles) {
      const current = readStats(path);
      if (current?.ino === stats.ino && current.dev === stats.dev) continue;
      throw new PawlError(
        "store_failed",
        `The file ${path} was ${current === undefined ? "deleted" : "replaced"} while the store was open. Further writes would be lost. Put the file back, or open the store again.`,
      );
    }
  };
}

function readStats(path: string): Stats | undefined {
  return statSync(path, { throwIfNoEntry: false });
}

/**
 * Checkpoints for a SQLite that must not make them by itself: before 3.51.3, one that runs while a writer begins the log anew can
 * damage the file.
 *
 * 1. A checkpoint runs only while another connection of ours holds the write lock: nobody begins the log anew meanwhile.
 * 2. It is never waited for, and nobody's commit fails with it: where somebody else writes, or the disk is full, the log grows on. */
import { statSync } from "node:fs";
import { inTransaction, type SqliteHandle } from "./driver.js";

export type Checkpoints = {
  /** Call it after each transaction, with about what it wrote; makes a checkpoint where one is due. */
  readonly wrote: (pages: number) => void;
  /** Makes a last one, so that the file has everything; `libsql` does not when it closes. */
  readonly close: () => void;
};

/** As many pages as SQLite itself lets a log grow. */
const pagesBetween = 1000;
const pageBytes = 4096;

export const noCheckpoints: Checkpoints = { wrote: () => {}, close: () => {} };

/** @param second a connection to the same file, for checkpoints alone; closed with them */
export function createCheckpoints(writer: SqliteHandle, second: SqliteHandle, file: string): Checkpoints {
  second.exec("PRAGMA busy_timeout = 0");
  second.exec("PRAGMA wal_autocheckpoint = 0");
  // What others left behind counts too.
  let pages = logPages(file);

  function checkpoint(): void {
    try {
      inTransaction(writer, "guard", () => second.exec("PRAGMA wal_checkpoint(PASSIVE)"));
      pages = 0;
    } catch {
      // Everything is in the log. What keeps failing is told by the next write.
    }
  }

  return {
    wrote(count) {
      pages += count;
      if (pages >= pagesBetween) checkpoint();
    },
    close() {
      checkpoint();
      second.close();
    },
  };
}

function logPages(file: string): number {
  return (statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0) / pageBytes;
}

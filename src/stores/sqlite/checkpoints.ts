/**
 * Checkpoints for a SQLite that must not make them by itself. Before 3.51.3, a checkpoint that runs while a writer begins the log
 * again can damage the file.
 *
 * 1. A checkpoint runs only while another connection of ours holds the write lock: nobody can begin the log again meanwhile.
 * 2. Nobody waits for a checkpoint, and no commit fails with it: while somebody else writes, or the disk is full, the log grows on.
 */
import { statSync } from "node:fs";
import { inTransaction, type SqliteHandle } from "./driver.js";

export type Checkpoints = {
  /** Call it after each transaction with the approximate number of pages written; makes a checkpoint if one is due. */
  readonly wrote: (pages: number) => void;
  /** Makes a checkpoint now. Throws if another process writes. */
  readonly now: () => void;
  /** Makes a last checkpoint, so that the file has everything; `libsql` makes none when it closes. */
  readonly close: () => void;
};

/** As many pages as SQLite itself lets a log grow. */
const pagesBetween = 1000;
const pageBytes = 4096;

export const noCheckpoints: Checkpoints = { wrote: () => {}, now: () => {}, close: () => {} };

/** @param second a connection to the same file that is used for checkpoints alone; `close` closes it */
export function createCheckpoints(writer: SqliteHandle, second: SqliteHandle, file: string): Checkpoints {
  second.exec("PRAGMA busy_timeout = 0");
  second.exec("PRAGMA wal_autocheckpoint = 0");
  // Pages that other processes left in the log count too.
  let pages = logPages(file);

  function now(): void {
    inTransaction(writer, "guard", () => second.exec("PRAGMA wal_checkpoint(PASSIVE)"));
    pages = 0;
  }

  function checkpoint(): void {
    try {
      now();
    } catch {
      // Nothing is lost: everything is in the log. If the cause stays, the next write fails and tells it.
    }
  }

  return {
    now,
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

/**
 * Checkpoints for SQLite versions that must not make them on their own. Before 3.51.3, a checkpoint that runs while a writer restarts the
 * log can damage the file.
 *
 * 1. A checkpoint runs only while another connection of this process holds the write lock, so that no writer can restart the log meanwhile.
 * 2. Nothing waits for a checkpoint, and its failure does not fail a commit: while another process writes, or the disk is full, the log
 *    keeps growing.
 */
import { statSync } from "node:fs";
import { inTransaction, type SqliteHandle } from "./driver.js";

export type Checkpoints = {
  /** Call this after each transaction, with the approximate number of pages written. Makes a checkpoint if one is due. */
  readonly recordWrite: (pages: number) => void;
  /** Makes a checkpoint now. Throws if another process writes. */
  readonly checkpointNow: () => void;
  /** Makes a final checkpoint, so that the file is complete. `libsql` makes none when it closes. */
  readonly close: () => void;
};

/** The number of pages at which SQLite itself makes a checkpoint. */
const checkpointPages = 1000;
const pageBytes = 4096;

export const noCheckpoints: Checkpoints = { recordWrite: () => {}, checkpointNow: () => {}, close: () => {} };

/** @param checkpointer a connection to the same file that is only used for checkpoints; `close` closes it */
export function createCheckpoints(writer: SqliteHandle, checkpointer: SqliteHandle, file: string): Checkpoints {
  checkpointer.exec("PRAGMA busy_timeout = 0");
  checkpointer.exec("PRAGMA wal_autocheckpoint = 0");
  // Pages that other processes left in the log also count.
  let pages = countLogPages(file);

  function checkpointNow(): void {
    inTransaction(writer, "guard", () => checkpointer.exec("PRAGMA wal_checkpoint(PASSIVE)"));
    pages = 0;
  }

  function checkpoint(): void {
    try {
      checkpointNow();
    } catch {
      // Nothing is lost, because everything is in the log. If the cause persists, the next write fails and reports it.
    }
  }

  return {
    checkpointNow,
    recordWrite(count) {
      pages += count;
      if (pages >= checkpointPages) checkpoint();
    },
    close() {
      checkpoint();
      checkpointer.close();
    },
  };
}

function countLogPages(file: string): number {
  return (statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0) / pageBytes;
}

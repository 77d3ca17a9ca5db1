/**
 * Removes content from a session, and from the file.
 *
 * 1. The redacted rows are computed before the transaction. Only the holder of the lease writes these rows, so they do not change in
 *    between.
 * 2. A marker file next to the database records that SQLite's log (`-wal`) still has the former pages. If this process ends before it has
 *    overwritten them, the next process that opens the database completes the work.
 */
import { closeSync, existsSync, openSync, readSync, rmSync, statSync } from "node:fs";
import type { CommitResult, Lease, Redaction } from "../../ports/store.js";
import { createRowRedactor, type RedactableRow, type RedactedRow } from "../shared/redact-rows.js";
import { rowsPerPage } from "../shared/rows.js";
import {
  type ByteColumns,
  decodeColumn,
  inTransaction,
  type SqliteBytes,
  type SqliteHandle,
  toBytes,
} from "./driver.js";
import type { Database } from "./schema.js";
import { append, type EncodedCommit, findHead, findId } from "./sessions.js";

/** The writes of a redaction's transaction. */
export type PreparedRedaction = {
  readonly rows: readonly RedactedRow[];
  /** The hashes of the blobs to remove. */
  readonly blobs: readonly string[];
};

/** @param read runs work in a read-only transaction */
export async function prepareRedaction(
  db: Database,
  read: <Result>(work: () => Result) => Promise<Result>,
  sessionId: string,
  redaction: Redaction,
): Promise<PreparedRedaction> {
  const id = findId(db, sessionId);
  if (id === undefined) return { rows: [], blobs: [] };
  const rows: RedactedRow[] = [];
  const redactRow = createRowRedactor(redaction, { file: db.file, sessionId });
  for (let last = 0; ; ) {
    const page = await read(() => readRedactableRows(db, id, last));
    for (const row of page) {
      last = row.seq;
      const redacted = redactRow(row);
      if (redacted !== null) rows.push(redacted);
    }
    if (page.length < rowsPerPage) break;
    await new Promise<void>((resolve) => setImmediate(resolve));
  }
  const blobs: string[] = [];
  for (let last = ""; ; ) {
    const blob = await read(() => db.statements.blobAfter.get(id, last) as BlobRow | undefined);
    if (blob === undefined) return { rows, blobs };
    last = decodeColumn(blob.hash);
    if (redaction.removes(last, toBytes(blob.bytes))) blobs.push(last);
  }
}

type BlobRow = { readonly hash: SqliteBytes; readonly bytes: SqliteBytes };

function readRedactableRows(db: Database, id: number, last: number): readonly RedactableRow[] {
  const rows = db.statements.redactable.all(id, last, rowsPerPage) as readonly ByteColumns<RedactableRow>[];
  return rows.map((row) => ({ ...row, events: decodeColumn(row.events), state: decodeColumn(row.state) }));
}

/** Applies a prepared redaction. Runs inside a transaction. */
export function applyRedaction(
  db: Database,
  lease: Lease,
  { commit }: Redaction,
  { rows, blobs }: PreparedRedaction,
  encoded: EncodedCommit,
): CommitResult {
  const result = append(db, lease, commit, encoded);
  const head = findHead(db, lease.sessionId);
  if (result.type !== "ok" || head === undefined) return result;
  const { replace, dropBlob } = db.statements;
  for (const { seq, events, eventsSum, state, stateSum } of rows)
    replace.run(events, eventsSum, state, stateSum, head.id, seq);
  for (const hash of blobs) dropBlob.run(head.id, hash);
  return result;
}

/** Overwrites the former pages that are still in SQLite's log. */
export type WalScrubber = {
  /** Creates the marker file. Call this before the transaction. */
  readonly markPending: () => void;
  /** Overwrites the pages, and removes the marker file. An open read transaction can prevent this; the marker then stays. */
  readonly scrub: () => Promise<void>;
};

export const noScrubber: WalScrubber = { markPending: () => {}, scrub: async () => {} };

/** The number of attempts while other processes read, and the pause between them in milliseconds. */
const maxScrubAttempts = 20;
const pauseMs = 50;

/** @param checkpoint makes a checkpoint under the write lock; null if SQLite may make checkpoints on its own */
export function createWalScrubber(handle: SqliteHandle, file: string, checkpoint: (() => void) | null): WalScrubber {
  const markerFile = `${file}-redacting`;
  const scrubOnce = (): boolean => (checkpoint === null ? truncateLog(handle) : overwriteLog(handle, file, checkpoint));
  return {
    markPending() {
      closeSync(openSync(markerFile, "a", 0o600));
    },
    async scrub() {
      for (let attemptsLeft = maxScrubAttempts; attemptsLeft > 0; attemptsLeft -= 1) {
        try {
          if (scrubOnce()) return rmSync(markerFile, { force: true });
        } catch {
          // Locked by another process, or the disk is full. Nothing is lost.
        }
        await new Promise((resolve) => setTimeout(resolve, pauseMs));
      }
    },
  };
}

/** Whether a process ended before it had overwritten SQLite's log. */
export function isScrubPending(file: string): boolean {
  return existsSync(`${file}-redacting`);
}

function truncateLog(handle: SqliteHandle): boolean {
  const row = handle.prepare("PRAGMA wal_checkpoint(TRUNCATE)").get() as { readonly busy: number } | undefined;
  return row?.busy === 0;
}

/**
 * For SQLite versions that must not truncate the log (see `checkpoints.ts`): after a checkpoint of the whole log, the next transaction
 * restarts the log at its start. As many pages as the log had are then written over it. The pages are free again afterwards.
 */
function overwriteLog(handle: SqliteHandle, file: string, checkpoint: () => void): boolean {
  const log = `${file}-wal`;
  const bytes = statSync(log, { throwIfNoEntry: false })?.size ?? 0;
  if (bytes === 0) return true;
  checkpoint();
  const generation = readLogGeneration(log);
  // Epochs may have gaps. An update without a change would not write a page.
  inTransaction(handle, "write", () => handle.exec("UPDATE store SET epoch = epoch + 1"));
  // A reader keeps the log from restarting: the pages would then be appended.
  if (readLogGeneration(log) === generation) return false;
  inTransaction(handle, "write", () => {
    // No session has the id 0. The row is never visible, because it is deleted in the same transaction.
    handle.prepare("INSERT INTO blobs VALUES (0, 'scrubbing', zeroblob(?))").run(Math.min(bytes, maxOverwriteBytes));
    handle.prepare("DELETE FROM blobs WHERE session = 0 AND hash = 'scrubbing'").run();
  });
  checkpoint();
  return true;
}

/** A log grows to some MiB, unless a reader keeps it from restarting. SQLite does not accept values above 1 GB. */
const maxOverwriteBytes = 512 * 1024 * 1024;

/** The two numbers in the log's header that SQLite changes whenever it restarts the log. */
function readLogGeneration(log: string): string {
  const header = Buffer.alloc(24);
  const file = openSync(log, "r");
  try {
    readSync(file, header, 0, header.length, 0);
  } finally {
    closeSync(file);
  }
  return header.toString("hex", 16);
}

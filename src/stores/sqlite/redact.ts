/**
 * Takes content out of a session, and out of the file.
 *
 * 1. The redacted rows are computed before the transaction. Only the holder of the lease writes them, so they stay as they
 *    were read.
 * 2. A file beside the database notes that the log of SQLite (`-wal`) still has the former pages. The next process that opens the database
 *    finishes the work, if this process ends before.
 */
import { closeSync, existsSync, openSync, readSync, rmSync, statSync } from "node:fs";
import type { CommitResult, Lease, Redaction } from "../../ports/store.js";
import { createRowRedaction, type RedactableRow, type RedactedRow } from "../shared/redact-rows.js";
import { rowsInPortion } from "../shared/rows.js";
import { bytesOf, type InBytes, inTransaction, type SqliteBytes, type SqliteHandle, textOf } from "./driver.js";
import { append, type Database, type Encoded, headOf, idOf } from "./sessions.js";

/** What the transaction of a redaction writes. */
export type Prepared = {
  readonly rows: readonly RedactedRow[];
  /** The hashes of the blobs that go. */
  readonly blobs: readonly string[];
};

/** @param read runs work in a transaction that only reads */
export async function prepare(
  db: Database,
  read: <Result>(work: () => Result) => Promise<Result>,
  sessionId: string,
  redaction: Redaction,
): Promise<Prepared> {
  const id = idOf(db, sessionId);
  if (id === undefined) return { rows: [], blobs: [] };
  const rows: RedactedRow[] = [];
  const changed = createRowRedaction(redaction, { file: db.file, sessionId });
  for (let last = 0; ; ) {
    const portion = await read(() => redactableRows(db, id, last));
    for (const row of portion) {
      last = row.seq;
      const present = changed(row);
      if (present !== null) rows.push(present);
    }
    if (portion.length < rowsInPortion) break;
    await new Promise<void>((resolve) => setImmediate(resolve));
  }
  const blobs: string[] = [];
  for (let last = ""; ; ) {
    const blob = await read(() => db.statements.blobAfter.get(id, last) as BlobRow | undefined);
    if (blob === undefined) return { rows, blobs };
    last = textOf(blob.hash);
    if (redaction.removes(last, bytesOf(blob.bytes))) blobs.push(last);
  }
}

type BlobRow = { readonly hash: SqliteBytes; readonly bytes: SqliteBytes };

function redactableRows(db: Database, id: number, last: number): readonly RedactableRow[] {
  const found = db.statements.redactable.all(id, last, rowsInPortion) as readonly InBytes<RedactableRow>[];
  return found.map((row) => ({ ...row, events: textOf(row.events), state: textOf(row.state) }));
}

/** Runs inside a transaction. */
export function redact(
  db: Database,
  lease: Lease,
  { commit }: Redaction,
  { rows, blobs }: Prepared,
  encoded: Encoded,
): CommitResult {
  const result = append(db, lease, commit, encoded);
  const head = headOf(db, lease.sessionId);
  if (result.type !== "ok" || head === undefined) return result;
  const { replace, dropBlob } = db.statements;
  for (const { seq, events, eventsSum, state, stateSum } of rows)
    replace.run(events, eventsSum, state, stateSum, head.id, seq);
  for (const hash of blobs) dropBlob.run(head.id, hash);
  return result;
}

/** Overwrites what the log of SQLite still has of former pages. */
export type Scrubbing = {
  /** Notes that there is something to overwrite. Call it before the transaction. */
  readonly note: () => void;
  /** Overwrites it, and takes the note away. An open read transaction can prevent it: then the note stays. */
  readonly scrub: () => Promise<void>;
};

export const noScrubbing: Scrubbing = { note: () => {}, scrub: async () => {} };

/** How often it is tried while other processes read, and how long it waits in between, in milliseconds. */
const tries = 20;
const pauseMs = 50;

/** @param checkpoint makes a checkpoint under the write lock; null if SQLite may make them by itself */
export function createScrubbing(handle: SqliteHandle, file: string, checkpoint: (() => void) | null): Scrubbing {
  const noteFile = `${file}-redacting`;
  const scrubOnce = (): boolean => (checkpoint === null ? truncated(handle) : overwritten(handle, file, checkpoint));
  return {
    note() {
      closeSync(openSync(noteFile, "a", 0o600));
    },
    async scrub() {
      for (let left = tries; left > 0; left -= 1) {
        try {
          if (scrubOnce()) return rmSync(noteFile, { force: true });
        } catch {
          // Locked by another process, or the disk is full. Nothing is lost.
        }
        await new Promise((resolve) => setTimeout(resolve, pauseMs));
      }
    },
  };
}

/** Whether a process ended before it had overwritten the log of SQLite. */
export function isScrubbingDue(file: string): boolean {
  return existsSync(`${file}-redacting`);
}

function truncated(handle: SqliteHandle): boolean {
  const row = handle.prepare("PRAGMA wal_checkpoint(TRUNCATE)").get() as { readonly busy: number } | undefined;
  return row?.busy === 0;
}

/**
 * With a SQLite that may not truncate its log (see `checkpoints.ts`): after a checkpoint of all of it, the next transaction
 * begins the log at its start. As many pages as the log had overwrite it. The pages are free again after.
 */
function overwritten(handle: SqliteHandle, file: string, checkpoint: () => void): boolean {
  const log = `${file}-wal`;
  const bytes = statSync(log, { throwIfNoEntry: false })?.size ?? 0;
  if (bytes === 0) return true;
  checkpoint();
  const before = generationOf(log);
  // An epoch may be left out. A change that changes nothing would write no page.
  inTransaction(handle, "write", () => handle.exec("UPDATE store SET epoch = epoch + 1"));
  // A reader keeps the log from beginning again: what comes now would be added to it.
  if (generationOf(log) === before) return false;
  inTransaction(handle, "write", () => {
    // No session has the id 0. Nobody sees the row: it is gone when the transaction ends.
    handle.prepare("INSERT INTO blobs VALUES (0, 'scrubbing', zeroblob(?))").run(Math.min(bytes, maxBytes));
    handle.prepare("DELETE FROM blobs WHERE session = 0 AND hash = 'scrubbing'").run();
  });
  checkpoint();
  return true;
}

/** A log grows to some MiB, unless a reader has kept it from beginning again. SQLite takes no value of more than 1 GB. */
const maxBytes = 512 * 1024 * 1024;

/** The two numbers in the header of a log that SQLite changes whenever it begins the log again. */
function generationOf(log: string): string {
  const header = Buffer.alloc(24);
  const file = openSync(log, "r");
  try {
    readSync(file, header, 0, header.length, 0);
  } finally {
    closeSync(file);
  }
  return header.toString("hex", 16);
}

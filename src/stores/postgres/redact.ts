/**
 * Removes content from a session. The redacted rows are computed first, because only the holder of the lease writes them. One statement
 * then replaces them, removes the blobs and appends the commit.
 *
 * Dead rows remain until `VACUUM`, and the content remains in the server's log, replicas and backups.
 */
import type { CommitResult, Lease, Redaction } from "../../ports/store.js";
import { createRowRedactor, type RedactableRow, type RedactedRow } from "../shared/redact-rows.js";
import { rowsPerPage } from "../shared/rows.js";
import { isValidId } from "../shared/rules.js";
import { encodeCommit, isCommitWritten, toCommitResult } from "./group.js";
import { queryFirst } from "./sessions.js";
import type { AppendOutcome, Database } from "./statements.js";

/** The rows that the statement replaces, and the blobs that it removes. */
export type PreparedRedaction = { readonly rows: readonly RedactedRow[]; readonly blobs: readonly string[] };

type BlobRow = { readonly hash: string; readonly bytes: Uint8Array };

export async function prepareRedaction(
  db: Database,
  sessionId: string,
  redaction: Redaction,
): Promise<PreparedRedaction> {
  if (!isValidId(sessionId)) return { rows: [], blobs: [] };
  const redactRow = createRowRedactor(redaction, { file: db.storeName, sessionId });
  const rows: RedactedRow[] = [];
  for (let last = 0; ; ) {
    const result = await db.query(db.statements.redactable, [sessionId, last, rowsPerPage]);
    const page = result.rows as readonly RedactableRow[];
    for (const row of page) {
      last = row.seq;
      const redacted = redactRow(row);
      if (redacted !== null) rows.push(redacted);
    }
    if (page.length < rowsPerPage) break;
  }
  const blobs: string[] = [];
  for (let last = ""; ; ) {
    const blob: BlobRow | undefined = await queryFirst(db, db.statements.blobOfAfter, [sessionId, last]);
    if (blob === undefined) return { rows, blobs };
    last = blob.hash;
    if (redaction.removes(last, new Uint8Array(blob.bytes))) blobs.push(last);
  }
}

/** @param isRetry whether the reply to an earlier statement was lost, so that it may have taken effect */
export async function applyRedaction(
  db: Database,
  lease: Lease,
  { commit }: Redaction,
  { rows, blobs }: PreparedRedaction,
  isRetry: boolean,
): Promise<CommitResult> {
  const { row, eventsSum } = encodeCommit(lease, commit);
  if (isRetry && (await isCommitWritten(db, { lease, commit, eventsSum })))
    return { type: "ok", seq: commit.expectedSeq + commit.events.length };
  const outcome = await queryFirst<AppendOutcome>(db, db.statements.redact, [
    ...row,
    rows.map(({ seq }) => seq),
    rows.map(({ events }) => events),
    rows.map((one) => one.eventsSum),
    rows.map(({ state }) => state),
    rows.map(({ stateSum }) => stateSum),
    blobs,
  ]);
  return toCommitResult(outcome);
}

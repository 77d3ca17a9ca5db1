/**
 * Takes content out of a session. The redacted rows are computed first: only the holder of the lease writes them. One statement
 * then replaces them, removes the blobs and appends the commit.
 *
 * What it leaves are dead rows, which are gone after `VACUUM`, and the server's log, replicas and backups.
 */
import type { CommitResult, Lease, Redaction } from "../../ports/store.js";
import { createRowRedaction, type RedactableRow, type RedactedRow } from "../shared/redact-rows.js";
import { rowsInPortion } from "../shared/rows.js";
import { isPossibleId } from "../shared/rules.js";
import { type Database, encoded, isWritten, type Outcome, resultOf } from "./group.js";
import { first } from "./sessions.js";

/** What the statement writes. */
export type Prepared = { readonly rows: readonly RedactedRow[]; readonly blobs: readonly string[] };

type BlobRow = { readonly hash: string; readonly bytes: Uint8Array };

export async function prepare(db: Database, sessionId: string, redaction: Redaction): Promise<Prepared> {
  if (!isPossibleId(sessionId)) return { rows: [], blobs: [] };
  const changed = createRowRedaction(redaction, { file: db.file, sessionId });
  const rows: RedactedRow[] = [];
  for (let last = 0; ; ) {
    const found = await db.query(db.statements.redactable, [sessionId, last, rowsInPortion]);
    const portion = found.rows as readonly RedactableRow[];
    for (const row of portion) {
      last = row.seq;
      const present = changed(row);
      if (present !== null) rows.push(present);
    }
    if (portion.length < rowsInPortion) break;
  }
  const blobs: string[] = [];
  for (let last = ""; ; ) {
    const blob: BlobRow | undefined = await first(db, db.statements.blobOfAfter, [sessionId, last]);
    if (blob === undefined) return { rows, blobs };
    last = blob.hash;
    if (redaction.removes(last, new Uint8Array(blob.bytes))) blobs.push(last);
  }
}

/** @param isAgain whether the answer to an earlier statement was lost, which may have taken effect */
export async function redact(
  db: Database,
  lease: Lease,
  { commit }: Redaction,
  { rows, blobs }: Prepared,
  isAgain: boolean,
): Promise<CommitResult> {
  const { row, eventsSum } = encoded(lease, commit);
  if (isAgain && (await isWritten(db, { lease, commit, eventsSum })))
    return { type: "ok", seq: commit.expectedSeq + commit.events.length };
  const outcome = await first<Outcome>(db, db.statements.redact, [
    ...row,
    rows.map(({ seq }) => seq),
    rows.map(({ events }) => events),
    rows.map((one) => one.eventsSum),
    rows.map(({ state }) => state),
    rows.map(({ stateSum }) => stateSum),
    blobs,
  ]);
  return resultOf(outcome);
}

/**
 * Looking for damage. A session is read row by row, and between sessions other work gets a turn.
 */

import type { State } from "../../core/machine/state.js";
import { PawlError } from "../../errors.js";
import type { StoreProblem } from "../../ports/store.js";
import { activityOf } from "../shared/rows.js";
import { hashOf } from "../shared/rules.js";
import { corrupt, decodeHolder } from "../shared/validate.js";
import {
  type CommitRow,
  checkCommitRow,
  checkOwnRow,
  type LastCommit,
  missingBlob,
  type OwnRow,
} from "../shared/verify-rows.js";
import { bytesOf, type InBytes, type SqliteBytes, sqliteCode, sqliteCodes, textOf, textOrNull } from "./driver.js";
import { inbox } from "./reads.js";
import type { Database } from "./sessions.js";

type SessionRow = InBytes<OwnRow> & { readonly id: number };
type BlobRow = { readonly hash: SqliteBytes; readonly bytes: SqliteBytes };

function ownRowOf(row: SessionRow): OwnRow {
  return {
    ...row,
    name: textOf(row.name),
    holder: textOrNull(row.holder),
    activity: textOf(row.activity),
    status: textOf(row.status),
    agent: textOrNull(row.agent),
    parent: textOrNull(row.parent),
    title: textOrNull(row.title),
    root: textOrNull(row.root),
    principal: textOrNull(row.principal),
    info: textOrNull(row.info),
  };
}

function commitRowOf(row: InBytes<CommitRow>): CommitRow {
  return { ...row, status: textOf(row.status), events: textOf(row.events), state: textOf(row.state) };
}

export async function verify(
  db: Database,
  read: <Result>(work: () => Result) => Promise<Result>,
  only: string | null,
): Promise<readonly StoreProblem[]> {
  const problems: StoreProblem[] = [];
  if (only === null) problems.push(...(await read(() => wholeFile(db))));
  for (let id = -1; ; ) {
    const row = await read(() => nextSession(db, id, only, problems));
    // A damaged index may lead back to a session that was seen already.
    if (row === undefined || row.id <= id) return problems;
    id = row.id;
    problems.push(...(await read(() => sessionProblems(db, row))));
    await new Promise<void>((resolve) => setImmediate(resolve));
  }
}

function nextSession(db: Database, id: number, only: string | null, problems: StoreProblem[]): SessionRow | undefined {
  return collect(problems, null, () => db.statements.names.get(id, only, only) as SessionRow | undefined);
}

function wholeFile(db: Database): readonly StoreProblem[] {
  const problems: StoreProblem[] = [];
  collect(problems, null, () => {
    const rows = db.statements.integrity.all() as readonly { readonly finding: SqliteBytes }[];
    for (const finding of rows.map((row) => textOf(row.finding)))
      if (finding !== "ok") problems.push({ sessionId: null, what: `SQLite: ${finding}` });
  });
  collect(problems, null, () => {
    const { count } = db.statements.strays.get() as { readonly count: number };
    if (count > 0) problems.push({ sessionId: null, what: `${count} sessions have content but no row of their own` });
  });
  return problems;
}

function sessionProblems(db: Database, row: SessionRow): readonly StoreProblem[] {
  const { id } = row;
  const session = ownRowOf(row);
  const { name: sessionId, holder, activity } = session;
  const problems: StoreProblem[] = [];
  const place = { file: db.file, sessionId, seq: 0 };
  if (holder !== null) collect(problems, sessionId, () => decodeHolder(holder, place));
  collect(problems, sessionId, () => activityOf(activity, place));
  const last = collect(problems, sessionId, () => checkLog(db, id, sessionId, problems));
  if (last !== undefined) collect(problems, sessionId, () => checkOwnRow(session, last, place));
  collect(problems, sessionId, () => inbox(db, sessionId));
  collect(problems, sessionId, () => checkBlobs(db, id, sessionId, problems));
  return problems;
}

/** The last row, if it is sound. */
function checkLog(db: Database, id: number, sessionId: string, problems: StoreProblem[]): LastCommit | undefined {
  let seq = 0;
  let last: LastCommit | undefined;
  for (;;) {
    const found = db.statements.rowAfter.get(id, seq) as InBytes<CommitRow> | undefined;
    if (found === undefined) return last;
    const row = commitRowOf(found);
    const previous = seq;
    seq = row.seq;
    if (seq <= previous) throw corrupt({ file: db.file, sessionId, seq: previous }, "its rows are out of order");
    last = collect(problems, sessionId, () => ({ row, state: checkRow(db, id, sessionId, row, previous) }));
  }
}

function checkRow(db: Database, id: number, sessionId: string, row: CommitRow, previous: number): State {
  const place = { file: db.file, sessionId, seq: row.seq };
  const { state, blobs } = checkCommitRow(row, previous, place);
  for (const hash of blobs) if (db.statements.hasBlob.get(id, hash) === undefined) throw missingBlob(hash, place);
  return state;
}

function checkBlobs(db: Database, id: number, sessionId: string, problems: StoreProblem[]): void {
  let last = "";
  for (;;) {
    const row = db.statements.blobAfter.get(id, last) as BlobRow | undefined;
    if (row === undefined) return;
    const hash = textOf(row.hash);
    if (hash <= last) throw corrupt({ file: db.file, sessionId, seq: 0 }, "its blobs are out of order");
    last = hash;
    if (hashOf(bytesOf(row.bytes)) !== hash) problems.push({ sessionId, what: `blob ${hash} does not match its hash` });
  }
}

/** Damage becomes a problem; anything else is thrown. */
function collect<Result>(problems: StoreProblem[], sessionId: string | null, look: () => Result): Result | undefined {
  try {
    return look();
  } catch (error) {
    if (!isDamage(error)) throw error;
    problems.push({ sessionId, what: error.message });
    return undefined;
  }
}

function isDamage(error: unknown): error is Error {
  if (error instanceof PawlError) return error.code === "store_corrupt" || error.code === "newer_format";
  return sqliteCode(error) === sqliteCodes.CORRUPT;
}

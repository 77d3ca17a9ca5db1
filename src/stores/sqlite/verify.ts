/**
 * Checks for damage. A session is read row by row, and other work gets a turn between sessions.
 */

import type { State } from "../../core/machine/state.js";
import { PawlError } from "../../errors.js";
import type { StoreProblem } from "../../ports/store.js";
import { corruptError, decodeHolder } from "../shared/decode.js";
import { parseActivity } from "../shared/rows.js";
import { hashBlob } from "../shared/rules.js";
import {
  type CommitRow,
  checkCommitRow,
  checkOwnRow,
  type LastCommit,
  missingBlobError,
  type OwnRow,
} from "../shared/verify-rows.js";
import { findWaitProblems } from "../shared/verify-waits.js";
import {
  type ByteColumns,
  decodeColumn,
  decodeNullableColumn,
  type SqliteBytes,
  sqliteCode,
  sqliteCodes,
  toBytes,
} from "./driver.js";
import { readInbox } from "./reads.js";
import type { Database } from "./schema.js";
import { listWaits } from "./signals.js";

type SessionRow = ByteColumns<OwnRow> & { readonly id: number };
type BlobRow = { readonly hash: SqliteBytes; readonly bytes: SqliteBytes };

function toOwnRow(row: SessionRow): OwnRow {
  return {
    ...row,
    name: decodeColumn(row.name),
    holder: decodeNullableColumn(row.holder),
    activity: decodeColumn(row.activity),
    status: decodeColumn(row.status),
    agent: decodeNullableColumn(row.agent),
    parent: decodeNullableColumn(row.parent),
    title: decodeNullableColumn(row.title),
    root: decodeNullableColumn(row.root),
    principal: decodeNullableColumn(row.principal),
    info: decodeNullableColumn(row.info),
    overview: decodeNullableColumn(row.overview),
  };
}

function toCommitRow(row: ByteColumns<CommitRow>): CommitRow {
  return { ...row, status: decodeColumn(row.status), events: decodeColumn(row.events), state: decodeColumn(row.state) };
}

export async function verify(
  db: Database,
  read: <Result>(work: () => Result) => Promise<Result>,
  onlySession: string | null,
): Promise<readonly StoreProblem[]> {
  const problems: StoreProblem[] = [];
  if (onlySession === null) problems.push(...(await read(() => checkFile(db))));
  for (let id = -1; ; ) {
    const last = id;
    // All rows of a session are read at the same moment, because its driver may be writing.
    const checked = await read(() => {
      const found: StoreProblem[] = [];
      const row = readNextSession(db, last, onlySession, found);
      // A damaged index may lead back to a session that was already checked.
      if (row === undefined || row.id <= last) return { id: null, found };
      return { id: row.id, found: [...found, ...findSessionProblems(db, row)] };
    });
    problems.push(...checked.found);
    if (checked.id === null) return problems;
    id = checked.id;
    await new Promise<void>((resolve) => setImmediate(resolve));
  }
}

function readNextSession(
  db: Database,
  id: number,
  onlySession: string | null,
  problems: StoreProblem[],
): SessionRow | undefined {
  return collectDamage(
    problems,
    null,
    () => db.statements.names.get(id, onlySession, onlySession) as SessionRow | undefined,
  );
}

function checkFile(db: Database): readonly StoreProblem[] {
  const problems: StoreProblem[] = [];
  collectDamage(problems, null, () => {
    const rows = db.statements.integrity.all() as readonly { readonly finding: SqliteBytes }[];
    for (const finding of rows.map((row) => decodeColumn(row.finding)))
      if (finding !== "ok") problems.push({ sessionId: null, what: `SQLite: ${finding}` });
  });
  collectDamage(problems, null, () => {
    const { count } = db.statements.strays.get() as { readonly count: number };
    if (count > 0) problems.push({ sessionId: null, what: `${count} sessions have content but no row of their own` });
  });
  return problems;
}

function findSessionProblems(db: Database, row: SessionRow): readonly StoreProblem[] {
  const { id } = row;
  const session = toOwnRow(row);
  const { name: sessionId, holder, activity } = session;
  const problems: StoreProblem[] = [];
  const position = { file: db.file, sessionId, seq: 0 };
  if (holder !== null) collectDamage(problems, sessionId, () => decodeHolder(holder, position));
  collectDamage(problems, sessionId, () => parseActivity(activity, position));
  const last = collectDamage(problems, sessionId, () => checkLog(db, id, sessionId, problems));
  if (last !== undefined) collectDamage(problems, sessionId, () => checkOwnRow(session, last, position));
  const messages = collectDamage(problems, sessionId, () => readInbox(db, sessionId));
  // The state and the inbox that the waits are compared with must themselves be valid.
  if (messages !== undefined && (last !== undefined || session.seq === 0))
    collectDamage(problems, sessionId, () => {
      const ids = new Set(messages.map((message) => message.id));
      for (const what of findWaitProblems(last?.state ?? null, listWaits(db, id), ids))
        problems.push({ sessionId, what });
    });
  collectDamage(problems, sessionId, () => checkBlobs(db, id, sessionId, problems));
  return problems;
}

/** Checks the log. Returns the last row, if it is valid. */
function checkLog(db: Database, id: number, sessionId: string, problems: StoreProblem[]): LastCommit | undefined {
  let seq = 0;
  let last: LastCommit | undefined;
  for (;;) {
    const columns = db.statements.rowAfter.get(id, seq) as ByteColumns<CommitRow> | undefined;
    if (columns === undefined) return last;
    const row = toCommitRow(columns);
    const previous = seq;
    seq = row.seq;
    if (seq <= previous) throw corruptError({ file: db.file, sessionId, seq: previous }, "its rows are out of order");
    last = collectDamage(problems, sessionId, () => ({ row, state: checkRow(db, id, sessionId, row, previous) }));
  }
}

function checkRow(db: Database, id: number, sessionId: string, row: CommitRow, previous: number): State {
  const position = { file: db.file, sessionId, seq: row.seq };
  const { state, blobs } = checkCommitRow(row, previous, position);
  for (const hash of blobs)
    if (db.statements.hasBlob.get(id, hash) === undefined) throw missingBlobError(hash, position);
  return state;
}

function checkBlobs(db: Database, id: number, sessionId: string, problems: StoreProblem[]): void {
  let last = "";
  for (;;) {
    const row = db.statements.blobAfter.get(id, last) as BlobRow | undefined;
    if (row === undefined) return;
    const hash = decodeColumn(row.hash);
    if (hash <= last) throw corruptError({ file: db.file, sessionId, seq: 0 }, "its blobs are out of order");
    last = hash;
    if (hashBlob(toBytes(row.bytes)) !== hash)
      problems.push({ sessionId, what: `blob ${hash} does not match its hash` });
  }
}

/** Records damage as a problem, and rethrows any other error. */
function collectDamage<Result>(
  problems: StoreProblem[],
  sessionId: string | null,
  inspect: () => Result,
): Result | undefined {
  try {
    return inspect();
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

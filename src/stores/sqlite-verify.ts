/**
 * Looking for damage. A session is read row by row and a turn is given up between sessions, so that others go on.
 */

import { PawlError } from "../errors.js";
import type { Problem } from "../ports/store.js";
import { hashOf } from "./rules.js";
import { sqliteCode, sqliteCodes } from "./sqlite-driver.js";
import { inbox } from "./sqlite-reads.js";
import { keySpan } from "./sqlite-schema.js";
import type { Database } from "./sqlite-sessions.js";
import { checkFormat, checkSum, corrupt, decodeEntries, decodeOwner, decodeState } from "./validate.js";

type SessionRow = { readonly id: number; readonly name: string; readonly owner: string | null };
type CommitRow = {
  readonly key: number;
  readonly v: number;
  readonly status: string;
  readonly events: string;
  readonly eventsSum: number;
  readonly state: string;
  readonly stateSum: number;
};

export async function verify(
  db: Database,
  read: <Result>(work: () => Result) => Promise<Result>,
  only: string | null,
): Promise<readonly Problem[]> {
  const problems: Problem[] = [];
  if (only === null) problems.push(...(await read(() => wholeFile(db))));
  for (let id = -1; ; ) {
    const row = await read(() => nextSession(db, id, only, problems));
    if (row === undefined) return problems;
    id = row.id;
    problems.push(...(await read(() => sessionProblems(db, row))));
    await new Promise<void>((resolve) => setImmediate(resolve));
  }
}

function nextSession(db: Database, id: number, only: string | null, problems: Problem[]): SessionRow | undefined {
  return collect(problems, null, () => db.statements.names.get(id, only, only) as SessionRow | undefined);
}

function wholeFile(db: Database): readonly Problem[] {
  const problems: Problem[] = [];
  collect(problems, null, () => {
    const rows = db.statements.integrity.all() as readonly { readonly integrity_check: string }[];
    for (const row of rows)
      if (row.integrity_check !== "ok") problems.push({ sessionId: null, what: `SQLite: ${row.integrity_check}` });
  });
  collect(problems, null, () => {
    const { count } = db.statements.strays.get() as { readonly count: number };
    if (count > 0) problems.push({ sessionId: null, what: `${count} sessions have content but no row of their own` });
  });
  return problems;
}

function sessionProblems(db: Database, row: SessionRow): readonly Problem[] {
  const problems: Problem[] = [];
  const place = { file: db.file, sessionId: row.name, seq: 0 };
  const { owner } = row;
  if (owner !== null) collect(problems, row.name, () => decodeOwner(owner, place));
  collect(problems, row.name, () => checkLog(db, row, problems));
  collect(problems, row.name, () => inbox(db, row.name));
  collect(problems, row.name, () => checkBlobs(db, row, problems));
  return problems;
}

function checkLog(db: Database, { id, name }: SessionRow, problems: Problem[]): void {
  let key = id * keySpan;
  for (;;) {
    const row = db.statements.rowAfter.get(key, (id + 1) * keySpan) as CommitRow | undefined;
    if (row === undefined) return;
    const previous = key;
    key = row.key;
    collect(problems, name, () => checkRow(db, name, row, previous));
  }
}

function checkRow(db: Database, sessionId: string, row: CommitRow, previous: number): void {
  const place = { file: db.file, sessionId, seq: row.key % keySpan };
  checkFormat(row.v, place);
  const first = decodeEntries(checkSum(row.events, row.eventsSum, place), place)[0]?.seq ?? 0;
  const state = decodeState(checkSum(row.state, row.stateSum, place), place);
  if (first !== (previous % keySpan) + 1)
    throw corrupt(place, `it starts with entry ${first}, after entry ${previous % keySpan}`);
  if (state.status !== row.status) throw corrupt(place, `its state is ${state.status}, and it says ${row.status}`);
}

function checkBlobs(db: Database, { id, name }: SessionRow, problems: Problem[]): void {
  let last = "";
  for (;;) {
    const row = db.statements.blobAfter.get(id, last) as
      | { readonly hash: string; readonly bytes: Uint8Array | ArrayBuffer }
      | undefined;
    if (row === undefined) return;
    last = row.hash;
    if (hashOf(new Uint8Array(row.bytes)) !== row.hash)
      problems.push({ sessionId: name, what: `blob ${row.hash} does not match its hash` });
  }
}

/** Damage becomes a problem; anything else is thrown. */
function collect<Result>(problems: Problem[], sessionId: string | null, look: () => Result): Result | undefined {
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

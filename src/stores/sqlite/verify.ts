/**
 * Looking for damage. A session is read row by row and a turn is given up between sessions, so that others go on.
 */

import type { Entry } from "../../core/machine/event.js";
import type { State } from "../../core/machine/state.js";
import { blobsOf } from "../../core/transcript/blob-references.js";
import { askedAt } from "../../core/view/outcome.js";
import { PawlError } from "../../errors.js";
import type { Problem } from "../../ports/store.js";
import { hashOf } from "../shared/rules.js";
import {
  checkFormat,
  checkSum,
  corrupt,
  decodeEntries,
  decodeHolder,
  decodeState,
  type RowPosition,
} from "../shared/validate.js";
import { bytesOf, type SqliteBytes, sqliteCode, sqliteCodes, textOf } from "./driver.js";
import { activityOf, inbox } from "./reads.js";
import { keySpan } from "./schema.js";
import type { Database } from "./sessions.js";

type SessionRow = {
  readonly id: number;
  readonly name: SqliteBytes;
  readonly holder: SqliteBytes | null;
  readonly activity: SqliteBytes;
  readonly askedAt: number | null;
};
type CommitRow = {
  readonly key: number;
  readonly v: number;
  readonly status: SqliteBytes;
  readonly events: SqliteBytes;
  readonly eventsSum: number;
  readonly state: SqliteBytes;
  readonly stateSum: number;
};

type BlobRow = { readonly hash: SqliteBytes; readonly bytes: SqliteBytes };

export async function verify(
  db: Database,
  read: <Result>(work: () => Result) => Promise<Result>,
  only: string | null,
): Promise<readonly Problem[]> {
  const problems: Problem[] = [];
  if (only === null) problems.push(...(await read(() => wholeFile(db))));
  for (let id = -1; ; ) {
    const row = await read(() => nextSession(db, id, only, problems));
    // A damaged index may lead back.
    if (row === undefined || row.id <= id) return problems;
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

function sessionProblems(db: Database, { id, name, holder, activity, askedAt: asked }: SessionRow): readonly Problem[] {
  const problems: Problem[] = [];
  const sessionId = textOf(name);
  const place = { file: db.file, sessionId, seq: 0 };
  if (holder !== null) collect(problems, sessionId, () => decodeHolder(textOf(holder), place));
  collect(problems, sessionId, () => activityOf(textOf(activity), place));
  const last = collect(problems, sessionId, () => checkLog(db, id, sessionId, problems));
  if (last !== undefined && askedAt(last) !== asked)
    problems.push({ sessionId, what: `it is listed as asking since ${asked}, and its state says ${askedAt(last)}` });
  collect(problems, sessionId, () => inbox(db, sessionId));
  collect(problems, sessionId, () => checkBlobs(db, id, sessionId, problems));
  return problems;
}

/** The last state, where its row is sound. */
function checkLog(db: Database, id: number, sessionId: string, problems: Problem[]): State | undefined {
  let key = id * keySpan;
  let last: State | undefined;
  for (;;) {
    const row = db.statements.rowAfter.get(key, (id + 1) * keySpan) as CommitRow | undefined;
    if (row === undefined) return last;
    const previous = key;
    key = row.key;
    if (key <= previous)
      throw corrupt({ file: db.file, sessionId, seq: previous % keySpan }, "its rows are out of order");
    last = collect(problems, sessionId, () => checkRow(db, id, sessionId, row, previous));
  }
}

function checkRow(db: Database, id: number, sessionId: string, row: CommitRow, previous: number): State {
  const place = { file: db.file, sessionId, seq: row.key % keySpan };
  checkFormat(row.v, place);
  const entries = decodeEntries(checkSum(textOf(row.events), row.eventsSum, place), place);
  const first = entries[0]?.seq ?? 0;
  const state = decodeState(checkSum(textOf(row.state), row.stateSum, place), place);
  if (first !== (previous % keySpan) + 1)
    throw corrupt(place, `it starts with entry ${first}, after entry ${previous % keySpan}`);
  const status = textOf(row.status);
  if (state.status !== status) throw corrupt(place, `its state is ${state.status}, and it says ${status}`);
  for (const hash of entries.flatMap((entry) => namedBlobs(entry, place)))
    if (db.statements.hasBlob.get(id, hash) === undefined)
      throw corrupt(place, `it names the blob ${hash}, which is missing`);
  return state;
}

function namedBlobs({ event }: Entry, place: RowPosition): readonly string[] {
  try {
    return blobsOf(event);
  } catch {
    throw corrupt(place, `what its ${event.type} holds is none that could be read`);
  }
}

function checkBlobs(db: Database, id: number, sessionId: string, problems: Problem[]): void {
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

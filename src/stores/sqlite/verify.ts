/**
 * Looking for damage. A session is read row by row, and between sessions other work gets a turn.
 */

import type { Entry } from "../../core/machine/event.js";
import type { State } from "../../core/machine/state.js";
import { blobsOf } from "../../core/transcript/blob-references.js";
import { askedAt } from "../../core/view/outcome.js";
import { PawlError } from "../../errors.js";
import type { Problem } from "../../ports/store.js";
import { hashOf, isPossibleText } from "../shared/rules.js";
import {
  checkCommitSum,
  checkFormat,
  checkSum,
  corrupt,
  decodeEntries,
  decodeHolder,
  decodeInfo,
  decodeState,
  type RowPosition,
} from "../shared/validate.js";
import { bytesOf, type SqliteBytes, sqliteCode, sqliteCodes, textOf } from "./driver.js";
import { activityOf, inbox } from "./reads.js";
import type { Database } from "./sessions.js";

type SessionRow = {
  readonly id: number;
  readonly name: SqliteBytes;
  readonly holder: SqliteBytes | null;
  readonly activity: SqliteBytes;
  readonly askedAt: number | null;
  readonly agent: SqliteBytes | null;
  readonly parent: SqliteBytes | null;
  readonly title: SqliteBytes | null;
  readonly root: SqliteBytes | null;
  readonly principal: SqliteBytes | null;
  readonly info: SqliteBytes | null;
  readonly infoSum: number | null;
  readonly v: number | null;
  readonly seq: number;
  readonly status: SqliteBytes;
  readonly updatedAt: number;
};
type CommitRow = {
  readonly seq: number;
  readonly v: number;
  readonly at: number;
  readonly status: SqliteBytes;
  readonly events: SqliteBytes;
  readonly eventsSum: number;
  readonly state: SqliteBytes;
  readonly stateSum: number;
};
type Last = { readonly row: CommitRow; readonly state: State };

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
    // A damaged index may lead back to a session that was seen already.
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

function sessionProblems(db: Database, session: SessionRow): readonly Problem[] {
  const { id, name, holder, activity } = session;
  const problems: Problem[] = [];
  const sessionId = textOf(name);
  const place = { file: db.file, sessionId, seq: 0 };
  if (holder !== null) collect(problems, sessionId, () => decodeHolder(textOf(holder), place));
  collect(problems, sessionId, () => activityOf(textOf(activity), place));
  const last = collect(problems, sessionId, () => checkLog(db, id, sessionId, problems));
  if (last !== undefined) collect(problems, sessionId, () => checkOwnRow(session, last, place));
  collect(problems, sessionId, () => inbox(db, sessionId));
  collect(problems, sessionId, () => checkBlobs(db, id, sessionId, problems));
  return problems;
}

/** The session's own row says the same as its last commit. */
function checkOwnRow(session: SessionRow, { row, state }: Last, place: RowPosition): void {
  const asked = askedAt(state);
  if (asked !== session.askedAt)
    throw corrupt(place, `it is listed as asking since ${session.askedAt}, and its state says ${asked}`);
  const info = session.info === null ? null : decodeInfo(checkSum(textOf(session.info), session.infoSum, place), place);
  const isSame =
    JSON.stringify(info) === JSON.stringify(state.session) &&
    columnIs(session.agent, info?.agent) &&
    columnIs(session.parent, info?.parent?.sessionId) &&
    columnIs(session.title, info?.title) &&
    columnIs(session.root, info?.root) &&
    columnIs(session.principal, info?.principal);
  if (!isSame) throw corrupt(place, "what lists say of it is not what its state says");
  const { v, seq, status, updatedAt, holder } = session;
  const isUpToDate = v === row.v && seq === row.seq && textOf(status) === textOf(row.status) && updatedAt === row.at;
  // The holder's commits leave these columns as they are.
  if (holder === null && !isUpToDate)
    throw corrupt(place, "what lists say of its last commit is not what its log says");
}

/** A database replaces half of a surrogate pair, and may cut text at a NUL. */
function columnIs(column: SqliteBytes | null, value: string | undefined): boolean {
  if (column === null || value === undefined) return column === null && value === undefined;
  const text = textOf(column);
  return text === value || !isPossibleText(value);
}

/** The last row, if it is sound. */
function checkLog(db: Database, id: number, sessionId: string, problems: Problem[]): Last | undefined {
  let seq = 0;
  let last: Last | undefined;
  for (;;) {
    const row = db.statements.rowAfter.get(id, seq) as CommitRow | undefined;
    if (row === undefined) return last;
    const previous = seq;
    seq = row.seq;
    if (seq <= previous) throw corrupt({ file: db.file, sessionId, seq: previous }, "its rows are out of order");
    last = collect(problems, sessionId, () => ({ row, state: checkRow(db, id, sessionId, row, previous) }));
  }
}

function checkRow(db: Database, id: number, sessionId: string, row: CommitRow, previous: number): State {
  const place = { file: db.file, sessionId, seq: row.seq };
  checkFormat(row.v, place);
  const entries = decodeEntries(checkCommitSum(textOf(row.events), row.eventsSum, place), place);
  const first = entries[0]?.seq ?? 0;
  const state = decodeState(checkCommitSum(textOf(row.state), row.stateSum, place), place);
  if (first !== previous + 1) throw corrupt(place, `it starts with entry ${first}, after entry ${previous}`);
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

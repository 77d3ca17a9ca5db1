/**
 * Looking for damage, session by session and row by row.
 */
import type { State } from "../../core/machine/state.js";
import { PawlError } from "../../errors.js";
import type { StoreProblem } from "../../ports/store.js";
import { activityOf } from "../shared/rows.js";
import { hashOf } from "../shared/rules.js";
import { decodeHolder } from "../shared/validate.js";
import {
  type CommitRow,
  checkCommitRow,
  checkOwnRow,
  type LastCommit,
  missingBlob,
  type OwnRow,
} from "../shared/verify-rows.js";
import type { Database } from "./group.js";
import { inbox } from "./reads.js";
import { first } from "./sessions.js";

type SessionRow = OwnRow & { readonly id: string };
type BlobRow = { readonly hash: string; readonly bytes: Uint8Array };

export async function verify(db: Database, only: string | null): Promise<readonly StoreProblem[]> {
  const problems: StoreProblem[] = [];
  if (only === null) {
    const strays = await first<{ readonly count: number }>(db, db.statements.strays, []);
    const count = strays?.count ?? 0;
    if (count > 0) problems.push({ sessionId: null, what: `${count} sessions have content but no row of their own` });
  }
  for (let id = "-1"; ; ) {
    const row: SessionRow | undefined = await first(db, db.statements.names, [id, only]);
    if (row === undefined) return problems;
    id = row.id;
    problems.push(...(await sessionProblems(db, row)));
  }
}

async function sessionProblems(db: Database, session: SessionRow): Promise<readonly StoreProblem[]> {
  const problems: StoreProblem[] = [];
  const { name: sessionId, holder, activity } = session;
  const place = { file: db.file, sessionId, seq: 0 };
  const check = async <Result>(work: () => Result | Promise<Result>): Promise<Result | undefined> => {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof PawlError)) throw error;
      problems.push({ sessionId, what: error.message });
      return undefined;
    }
  };
  if (holder !== null) await check(() => decodeHolder(holder, place));
  await check(() => activityOf(activity, place));
  const last = await check(() => checkLog(db, session, check));
  if (last !== undefined) await check(() => checkOwnRow(session, last, place));
  await check(() => inbox(db, sessionId));
  for (let hash = ""; ; ) {
    const blob: BlobRow | undefined = await first(db, db.statements.blobAfter, [session.id, hash]);
    if (blob === undefined) return problems;
    hash = blob.hash;
    if (hashOf(new Uint8Array(blob.bytes)) !== hash)
      problems.push({ sessionId, what: `blob ${hash} does not match its hash` });
  }
}

type Check = <Result>(work: () => Result | Promise<Result>) => Promise<Result | undefined>;

/** The last row, if it is sound. */
async function checkLog(db: Database, session: SessionRow, check: Check): Promise<LastCommit | undefined> {
  let last: LastCommit | undefined;
  for (let seq = 0; ; ) {
    const row: CommitRow | undefined = await first(db, db.statements.rowAfter, [session.id, seq]);
    if (row === undefined) return last;
    const previous = seq;
    seq = row.seq;
    last = await check(async () => ({ row, state: await checkRow(db, session, row, previous) }));
  }
}

async function checkRow(db: Database, session: SessionRow, row: CommitRow, previous: number): Promise<State> {
  const place = { file: db.file, sessionId: session.name, seq: row.seq };
  const { state, blobs } = checkCommitRow(row, previous, place);
  for (const hash of blobs)
    if ((await first(db, db.statements.hasBlob, [session.id, hash])) === undefined) throw missingBlob(hash, place);
  return state;
}

/**
 * Checks for damage, session by session and row by row.
 */
import type { State } from "../../core/machine/state.js";
import { PawlError } from "../../errors.js";
import type { StoreProblem } from "../../ports/store.js";
import { decodeHolder } from "../shared/decode.js";
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
import { readInbox } from "./reads.js";
import { queryFirst } from "./sessions.js";
import { listWaits } from "./signals.js";
import type { Database } from "./statements.js";

type SessionRow = OwnRow & { readonly id: string };
type BlobRow = { readonly hash: string; readonly bytes: Uint8Array };

export async function verify(db: Database, onlySession: string | null): Promise<readonly StoreProblem[]> {
  const problems: StoreProblem[] = [];
  if (onlySession === null) {
    const strays = await queryFirst<{ readonly count: number }>(db, db.statements.strays, []);
    const count = strays?.count ?? 0;
    if (count > 0) problems.push({ sessionId: null, what: `${count} sessions have content but no row of their own` });
  }
  for (let id = "-1"; ; ) {
    const row: SessionRow | undefined = await queryFirst(db, db.statements.names, [id, onlySession]);
    if (row === undefined) return problems;
    id = row.id;
    problems.push(...(await confirmProblems(db, row, await findSessionProblems(db, row))));
  }
}

/** How often a session with problems is checked again. */
const recheckCount = 2;

/**
 * Returns the problems that further checks also find. The rows of a session are read one after another, and its driver may have written in
 * between. Such a difference is gone the next time, whereas damage stays.
 */
async function confirmProblems(
  db: Database,
  { id, name }: SessionRow,
  found: readonly StoreProblem[],
): Promise<readonly StoreProblem[]> {
  let problems = found;
  for (let check = 0; check < recheckCount && problems.length > 0; check += 1) {
    const row: SessionRow | undefined = await queryFirst(db, db.statements.names, [`${BigInt(id) - 1n}`, name]);
    const again = row === undefined ? [] : await findSessionProblems(db, row);
    problems = problems.filter(({ what }) => again.some((other) => other.what === what));
  }
  return problems;
}

async function findSessionProblems(db: Database, session: SessionRow): Promise<readonly StoreProblem[]> {
  const problems: StoreProblem[] = [];
  const { name: sessionId, holder, activity } = session;
  const position = { file: db.storeName, sessionId, seq: 0 };
  const check = async <Result>(work: () => Result | Promise<Result>): Promise<Result | undefined> => {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof PawlError)) throw error;
      problems.push({ sessionId, what: error.message });
      return undefined;
    }
  };
  if (holder !== null) await check(() => decodeHolder(holder, position));
  await check(() => parseActivity(activity, position));
  const last = await check(() => checkLog(db, session, check));
  if (last !== undefined) await check(() => checkOwnRow(session, last, position));
  const messages = await check(() => readInbox(db, sessionId));
  // The state and the inbox that the waits are compared with must themselves be valid.
  if (messages !== undefined && (last !== undefined || session.seq === 0)) {
    const waits = await listWaits(db, session.id);
    const ids = new Set(messages.map((message) => message.id));
    for (const what of findWaitProblems(last?.state ?? null, waits, ids)) problems.push({ sessionId, what });
  }
  for (let hash = ""; ; ) {
    const blob: BlobRow | undefined = await queryFirst(db, db.statements.blobAfter, [session.id, hash]);
    if (blob === undefined) return problems;
    hash = blob.hash;
    if (hashBlob(new Uint8Array(blob.bytes)) !== hash)
      problems.push({ sessionId, what: `blob ${hash} does not match its hash` });
  }
}

type DamageCheck = <Result>(work: () => Result | Promise<Result>) => Promise<Result | undefined>;

/** Checks the log. Returns the last row, if it is valid. */
async function checkLog(db: Database, session: SessionRow, check: DamageCheck): Promise<LastCommit | undefined> {
  let last: LastCommit | undefined;
  for (let seq = 0; ; ) {
    const row: CommitRow | undefined = await queryFirst(db, db.statements.rowAfter, [session.id, seq]);
    if (row === undefined) return last;
    const previous = seq;
    seq = row.seq;
    last = await check(async () => ({ row, state: await checkRow(db, session, row, previous) }));
  }
}

async function checkRow(db: Database, session: SessionRow, row: CommitRow, previous: number): Promise<State> {
  const position = { file: db.storeName, sessionId: session.name, seq: row.seq };
  const { state, blobs } = checkCommitRow(row, previous, position);
  for (const hash of blobs)
    if ((await queryFirst(db, db.statements.hasBlob, [session.id, hash])) === undefined)
      throw missingBlobError(hash, position);
  return state;
}

/**
 * Reads sessions, and validates everything on the way.
 */
import type { Entry } from "../../core/machine/event.js";
import type { InboxMessage } from "../../core/machine/inbox.js";
import type {
  AskingOptions,
  AskingSession,
  Holder,
  ListOptions,
  MessageIdsOptions,
  SessionSummary,
  StateAt,
} from "../../ports/store.js";
import { corruptError, decodeHolder, decodeMessage, verifyChecksum } from "../shared/decode.js";
import {
  type AskingRow,
  appendEntries,
  type LogRow,
  type OverviewColumns,
  rowsPerPage,
  type StateRow,
  type SummaryRow,
  toAskingSession,
  toOverviewSummary,
  toStateAt,
  toSummary,
} from "../shared/rows.js";
import { hashBlob, isValidId } from "../shared/rules.js";
import { queryFirst } from "./sessions.js";
import type { Database } from "./statements.js";

/** The state in the last row at or before entry `seq`. */
export async function loadAt(db: Database, sessionId: string, seq: number): Promise<StateAt | null> {
  if (!isValidId(sessionId)) return null;
  const row = await queryFirst<StateRow>(db, db.statements.stateAt, [sessionId, seq]);
  return row === undefined ? null : toStateAt(row, db.storeName, sessionId);
}

export async function readEntries(
  db: Database,
  sessionId: string,
  after: number,
  limit: number,
): Promise<readonly Entry[]> {
  if (!isValidId(sessionId)) return [];
  const entries: Entry[] = [];
  let last = after;
  while (entries.length < limit) {
    const rowLimit = Math.min(rowsPerPage, limit);
    const rows = (await db.query(db.statements.rowsAfter, [sessionId, last, rowLimit])).rows as readonly LogRow[];
    for (const row of rows) {
      appendEntries(entries, row, { after, last }, { file: db.storeName, sessionId, seq: row.seq });
      last = row.seq;
      if (entries.length >= limit) break;
    }
    if (rows.length < rowLimit) break;
  }
  return entries.slice(0, limit);
}

export async function readInbox(db: Database, sessionId: string): Promise<readonly InboxMessage[]> {
  if (!isValidId(sessionId)) return [];
  const position = { file: db.storeName, sessionId, seq: 0 };
  const { rows } = await db.query(db.statements.inbox, [sessionId]);
  return (rows as readonly { readonly body: string; readonly bodySum: number }[]).map((row) =>
    decodeMessage(verifyChecksum(row.body, row.bodySum, position), position),
  );
}

export async function listMessageIds(
  db: Database,
  sessionId: string,
  { after = "", limit }: MessageIdsOptions,
): Promise<readonly string[]> {
  if (!isValidId(sessionId)) return [];
  const { rows } = await db.query(db.statements.messageIds, [sessionId, after, toSqlLimit(limit)]);
  return (rows as readonly { readonly id: string }[]).map(({ id }) => id);
}

export async function listSessions(db: Database, options: ListOptions): Promise<readonly SessionSummary[]> {
  const { status = null, agent = null, root = null, parent, after, limit, text } = options;
  const { list, listOverviews } = db.statements;
  const { rows } = await db.query(options.overview === true ? listOverviews : list, [
    status,
    agent,
    root,
    parent ?? null,
    parent !== undefined,
    after?.updatedAt ?? null,
    after?.sessionId ?? null,
    toSqlLimit(limit),
    text?.toLowerCase().replaceAll("\0", "\uFFFD") ?? null,
  ]);
  if (options.overview === true)
    return (rows as readonly (SummaryRow & OverviewColumns)[]).map((row) => toOverviewSummary(row, db.storeName));
  return (rows as readonly SummaryRow[]).map((row) => toSummary(row, db.storeName));
}

export async function readSummary(db: Database, sessionId: string): Promise<SessionSummary | null> {
  if (!isValidId(sessionId)) return null;
  const row = await queryFirst<SummaryRow>(db, db.statements.describe, [sessionId]);
  return row === undefined ? null : toSummary(row, db.storeName);
}

/** In PostgreSQL, a null limit means no limit. */
function toSqlLimit(limit = Number.POSITIVE_INFINITY): number | null {
  return Number.isFinite(limit) ? limit : null;
}

export async function listAsking(db: Database, { limit, after }: AskingOptions): Promise<readonly AskingSession[]> {
  const values = [after?.askedAt ?? Number.NEGATIVE_INFINITY, after?.sessionId ?? "", toSqlLimit(limit)];
  const { rows } = await db.query(db.statements.asking, values);
  return (rows as readonly AskingRow[]).map((row) => toAskingSession(row, db.storeName));
}

type DueRow = { readonly name: string | null; readonly holder: string | null };

/** Queries again if the holders of some leases are dead, because only the first query shows who the holders are. */
export async function listDue(
  db: Database,
  now: number,
  limit: number,
  isDead: (holder: Holder) => boolean,
): Promise<readonly string[]> {
  const queryDue = async (dead: readonly string[]) =>
    (await db.query(db.statements.due, [now, dead, toSqlLimit(limit)])).rows as readonly DueRow[];
  const position = { file: db.storeName, sessionId: "of a holder", seq: 0 };
  const rows = await queryDue([]);
  const dead = rows.flatMap(({ holder }) =>
    holder !== null && isDead(decodeHolder(holder, position)) ? [holder] : [],
  );
  const last = dead.length === 0 ? rows : await queryDue(dead);
  return last.flatMap(({ name }) => (name === null ? [] : [name]));
}

export async function getBlob(db: Database, sessionId: string, hash: string): Promise<Uint8Array | null> {
  if (!isValidId(sessionId)) return null;
  const row = await queryFirst<{ readonly bytes: Uint8Array }>(db, db.statements.blob, [sessionId, hash]);
  if (row === undefined) return null;
  const bytes = new Uint8Array(row.bytes);
  if (hashBlob(bytes) !== hash)
    throw corruptError({ file: db.storeName, sessionId, seq: 0 }, `blob ${hash} does not match its hash`);
  return bytes;
}

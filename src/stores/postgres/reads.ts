/**
 * Reads of sessions. Everything is validated on the way.
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
import {
  type AskingRow,
  addEntries,
  askingFrom,
  type LogRow,
  rowsInPortion,
  type StateRow,
  type SummaryRow,
  stateFrom,
  summaryFrom,
} from "../shared/rows.js";
import { hashOf, isPossibleId } from "../shared/rules.js";
import { checkSum, corrupt, decodeHolder, decodeMessage } from "../shared/validate.js";
import type { Database } from "./group.js";
import { first } from "./sessions.js";

/** The state in the last row at or before entry `seq`. */
export async function loadAt(db: Database, sessionId: string, seq: number): Promise<StateAt | null> {
  if (!isPossibleId(sessionId)) return null;
  const row = await first<StateRow>(db, db.statements.stateAt, [sessionId, seq]);
  return row === undefined ? null : stateFrom(row, db.file, sessionId);
}

export async function read(db: Database, sessionId: string, after: number, limit: number): Promise<readonly Entry[]> {
  if (!isPossibleId(sessionId)) return [];
  const entries: Entry[] = [];
  let last = after;
  while (entries.length < limit) {
    const wanted = Math.min(rowsInPortion, limit);
    const rows = (await db.query(db.statements.rowsAfter, [sessionId, last, wanted])).rows as readonly LogRow[];
    for (const row of rows) {
      addEntries(entries, row, { after, last }, { file: db.file, sessionId, seq: row.seq });
      last = row.seq;
      if (entries.length >= limit) break;
    }
    if (rows.length < wanted) break;
  }
  return entries.slice(0, limit);
}

export async function inbox(db: Database, sessionId: string): Promise<readonly InboxMessage[]> {
  if (!isPossibleId(sessionId)) return [];
  const place = { file: db.file, sessionId, seq: 0 };
  const { rows } = await db.query(db.statements.inbox, [sessionId]);
  return (rows as readonly { readonly body: string; readonly bodySum: number }[]).map((row) =>
    decodeMessage(checkSum(row.body, row.bodySum, place), place),
  );
}

export async function messageIds(
  db: Database,
  sessionId: string,
  { after = "", limit }: MessageIdsOptions,
): Promise<readonly string[]> {
  if (!isPossibleId(sessionId)) return [];
  const { rows } = await db.query(db.statements.messageIds, [sessionId, after, asLimit(limit)]);
  return (rows as readonly { readonly id: string }[]).map(({ id }) => id);
}

export async function list(db: Database, options: ListOptions): Promise<readonly SessionSummary[]> {
  const { status = null, agent = null, root = null, parent, after, limit } = options;
  const { rows } = await db.query(db.statements.list, [
    status,
    agent,
    root,
    parent ?? null,
    parent !== undefined,
    after?.updatedAt ?? null,
    after?.sessionId ?? null,
    asLimit(limit),
  ]);
  return (rows as readonly SummaryRow[]).map((row) => summaryFrom(row, db.file));
}

export async function describe(db: Database, sessionId: string): Promise<SessionSummary | null> {
  if (!isPossibleId(sessionId)) return null;
  const row = await first<SummaryRow>(db, db.statements.describe, [sessionId]);
  return row === undefined ? null : summaryFrom(row, db.file);
}

/** In PostgreSQL a null limit is no limit. */
function asLimit(limit = Number.POSITIVE_INFINITY): number | null {
  return Number.isFinite(limit) ? limit : null;
}

export async function asking(db: Database, { limit, after }: AskingOptions): Promise<readonly AskingSession[]> {
  const values = [after?.askedAt ?? Number.NEGATIVE_INFINITY, after?.sessionId ?? "", asLimit(limit)];
  const { rows } = await db.query(db.statements.asking, values);
  return (rows as readonly AskingRow[]).map((row) => askingFrom(row, db.file));
}

type DueRow = { readonly name: string | null; readonly holder: string | null };

/** The sessions of holders that are known to be dead are asked for once more: first it must be known who they are. */
export async function due(
  db: Database,
  now: number,
  limit: number,
  isDead: (holder: Holder) => boolean,
): Promise<readonly string[]> {
  const ask = async (dead: readonly string[]) =>
    (await db.query(db.statements.due, [now, dead, asLimit(limit)])).rows as readonly DueRow[];
  const place = { file: db.file, sessionId: "of a holder", seq: 0 };
  const rows = await ask([]);
  const dead = rows.flatMap(({ holder }) => (holder !== null && isDead(decodeHolder(holder, place)) ? [holder] : []));
  const last = dead.length === 0 ? rows : await ask(dead);
  return last.flatMap(({ name }) => (name === null ? [] : [name]));
}

export async function getBlob(db: Database, sessionId: string, hash: string): Promise<Uint8Array | null> {
  if (!isPossibleId(sessionId)) return null;
  const row = await first<{ readonly bytes: Uint8Array }>(db, db.statements.blob, [sessionId, hash]);
  if (row === undefined) return null;
  const bytes = new Uint8Array(row.bytes);
  if (hashOf(bytes) !== hash)
    throw corrupt({ file: db.file, sessionId, seq: 0 }, `blob ${hash} does not match its hash`);
  return bytes;
}

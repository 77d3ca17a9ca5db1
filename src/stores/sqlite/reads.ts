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
import * as rows from "../shared/rows.js";
import { hashBlob, isValidId } from "../shared/rules.js";
import { type ByteColumns, decodeColumn, decodeNullableColumn, type SqliteBytes, toBytes } from "./driver.js";
import type { Database } from "./schema.js";
import { findId, readStateAt } from "./sessions.js";

export function load(db: Database, sessionId: string): StateAt | null {
  return loadAt(db, sessionId, Number.MAX_SAFE_INTEGER);
}

/** The state in the last row at or before entry `seq`. */
export function loadAt(db: Database, sessionId: string, seq: number): StateAt | null {
  const id = findId(db, sessionId);
  return id === undefined ? null : readStateAt(db, sessionId, id, seq);
}

export function readEntries(db: Database, sessionId: string, after: number, limit: number): readonly Entry[] {
  const id = findId(db, sessionId);
  if (id === undefined) return [];
  const entries: Entry[] = [];
  let last = after;
  while (entries.length < limit) {
    const rowLimit = Math.min(rows.rowsPerPage, limit);
    const page = db.statements.rowsAfter.all(id, last, rowLimit) as readonly ByteColumns<rows.LogRow>[];
    for (const found of page) {
      const row = { ...found, events: decodeColumn(found.events) };
      rows.appendEntries(entries, row, { after, last }, { file: db.file, sessionId, seq: row.seq });
      last = row.seq;
      if (entries.length >= limit) break;
    }
    if (page.length < rowLimit) break;
  }
  return entries.slice(0, limit);
}

export function readInbox(db: Database, sessionId: string): readonly InboxMessage[] {
  const id = findId(db, sessionId);
  if (id === undefined) return [];
  const position = { file: db.file, sessionId, seq: 0 };
  const found = db.statements.inbox.all(id) as readonly { readonly body: SqliteBytes; readonly bodySum: number }[];
  return found.map((row) => decodeMessage(verifyChecksum(decodeColumn(row.body), row.bodySum, position), position));
}

export function listMessageIds(db: Database, sessionId: string, options: MessageIdsOptions): readonly string[] {
  const id = findId(db, sessionId);
  if (id === undefined) return [];
  const found = db.statements.messageIds.all(id, options.after ?? "", toSqlLimit(options.limit));
  return (found as readonly { readonly id: SqliteBytes }[]).map((row) => decodeColumn(row.id));
}

export function listSessions(db: Database, options: ListOptions): readonly SessionSummary[] {
  const { parent, agent = null, root = null, after } = options;
  const status = options.status === undefined ? null : JSON.stringify(options.status);
  const parentFilter = typeof parent === "string" ? [parent] : [parent === null ? 1 : null, null];
  const { updatedAt, sessionId } = after ?? { updatedAt: Number.POSITIVE_INFINITY, sessionId: "" };
  const afterFilter = [updatedAt, updatedAt, updatedAt, sessionId];
  const { text = null } = options;
  const lowerText = text === null ? null : text.toLowerCase();
  const textFilter = [lowerText, lowerText, text];
  const filter = [status, status, ...parentFilter, agent, agent, root, root, ...afterFilter, ...textFilter];
  const limit = toSqlLimit(options.limit);
  const { list, listChildren, listOverviews, listChildOverviews } = db.statements;
  const [ofAny, ofParent] = options.overview === true ? [listOverviews, listChildOverviews] : [list, listChildren];
  const found = (typeof parent === "string" ? ofParent : ofAny).all(...filter, limit, ...filter, limit);
  if (options.overview === true) return (found as readonly OverviewRow[]).map((row) => toOverviewSummary(db, row));
  return (found as readonly ByteColumns<rows.SummaryRow>[]).map((row) => toSummary(db, row));
}

type OverviewRow = ByteColumns<rows.SummaryRow & Omit<rows.OverviewColumns, "hasChildren">> & {
  readonly hasChildren: number;
};

export function readSummary(db: Database, sessionId: string): SessionSummary | null {
  if (!isValidId(sessionId)) return null;
  const row = db.statements.summary.get(sessionId) as ByteColumns<rows.SummaryRow> | undefined;
  return row === undefined ? null : toSummary(db, row);
}

export function listAsking(db: Database, { limit, after }: AskingOptions): readonly AskingSession[] {
  const { askedAt, sessionId } = after ?? { askedAt: Number.NEGATIVE_INFINITY, sessionId: "" };
  const found = db.statements.asking.all(
    askedAt,
    sessionId,
    toSqlLimit(limit),
  ) as readonly ByteColumns<rows.AskingRow>[];
  return found.map((row) => {
    const texts = { name: decodeColumn(row.name), state: decodeNullableColumn(row.state) };
    return rows.toAskingSession({ ...row, ...texts }, db.file);
  });
}

/** In SQLite, a negative limit means no limit. */
function toSqlLimit(limit = Number.POSITIVE_INFINITY): number {
  return Number.isFinite(limit) ? limit : -1;
}

function toSummary(db: Database, row: ByteColumns<rows.SummaryRow>): SessionSummary {
  return rows.toSummary({ ...row, ...decodeSummaryTexts(row) }, db.file);
}

function toOverviewSummary(db: Database, row: OverviewRow): SessionSummary {
  const overview = decodeNullableColumn(row.overview);
  const state = decodeNullableColumn(row.state);
  const columns = { overview, state, hasChildren: row.hasChildren === 1 };
  return rows.toOverviewSummary({ ...row, ...decodeSummaryTexts(row), ...columns }, db.file);
}

function decodeSummaryTexts(row: ByteColumns<rows.SummaryRow>) {
  return {
    name: decodeColumn(row.name),
    activity: decodeColumn(row.activity),
    holder: decodeNullableColumn(row.holder),
    info: decodeNullableColumn(row.info),
    status: decodeColumn(row.status),
  };
}

export function listDue(
  db: Database,
  now: number,
  limit: number,
  isDead: (holder: Holder) => boolean,
): readonly string[] {
  const holders = db.statements.holders.all() as readonly {
    readonly holder: SqliteBytes;
    readonly name: SqliteBytes;
  }[];
  const dead = holders
    .map((row) => ({
      holder: decodeColumn(row.holder),
      position: { file: db.file, sessionId: decodeColumn(row.name), seq: 0 },
    }))
    .filter(({ holder, position }) => isDead(decodeHolder(holder, position)))
    .map(({ holder }) => holder);
  const found = db.statements.due.all(now, now, now, JSON.stringify(dead), toSqlLimit(limit)) as readonly {
    readonly name: SqliteBytes;
  }[];
  return found.map((row) => decodeColumn(row.name));
}

export function getBlob(db: Database, sessionId: string, hash: string): Uint8Array | null {
  const id = findId(db, sessionId);
  if (id === undefined) return null;
  const row = db.statements.blob.get(id, hash) as { readonly bytes: SqliteBytes } | undefined;
  if (row === undefined) return null;
  const bytes = toBytes(row.bytes);
  if (hashBlob(bytes) !== hash)
    throw corruptError({ file: db.file, sessionId, seq: 0 }, `blob ${hash} does not match its hash`);
  return bytes;
}

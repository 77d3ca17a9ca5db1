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
import * as rows from "../shared/rows.js";
import { hashOf, isPossibleId } from "../shared/rules.js";
import { checkSum, corrupt, decodeHolder, decodeMessage } from "../shared/validate.js";
import { bytesOf, type InBytes, type SqliteBytes, textOf, textOrNull } from "./driver.js";
import { type Database, idOf, stateAt } from "./sessions.js";

export function load(db: Database, sessionId: string): StateAt | null {
  return loadAt(db, sessionId, Number.MAX_SAFE_INTEGER);
}

/** The state in the last row at or before entry `seq`. */
export function loadAt(db: Database, sessionId: string, seq: number): StateAt | null {
  const id = idOf(db, sessionId);
  return id === undefined ? null : stateAt(db, sessionId, id, seq);
}

export function read(db: Database, sessionId: string, after: number, limit: number): readonly Entry[] {
  const id = idOf(db, sessionId);
  if (id === undefined) return [];
  const entries: Entry[] = [];
  let last = after;
  while (entries.length < limit) {
    const wanted = Math.min(rows.rowsInPortion, limit);
    const portion = db.statements.rowsAfter.all(id, last, wanted) as readonly InBytes<rows.LogRow>[];
    for (const found of portion) {
      const row = { ...found, events: textOf(found.events) };
      rows.addEntries(entries, row, { after, last }, { file: db.file, sessionId, seq: row.seq });
      last = row.seq;
      if (entries.length >= limit) break;
    }
    if (portion.length < wanted) break;
  }
  return entries.slice(0, limit);
}

export function inbox(db: Database, sessionId: string): readonly InboxMessage[] {
  const id = idOf(db, sessionId);
  if (id === undefined) return [];
  const place = { file: db.file, sessionId, seq: 0 };
  const found = db.statements.inbox.all(id) as readonly { readonly body: SqliteBytes; readonly bodySum: number }[];
  return found.map((row) => decodeMessage(checkSum(textOf(row.body), row.bodySum, place), place));
}

export function messageIds(db: Database, sessionId: string, options: MessageIdsOptions): readonly string[] {
  const id = idOf(db, sessionId);
  if (id === undefined) return [];
  const found = db.statements.messageIds.all(id, options.after ?? "", asLimit(options.limit));
  return (found as readonly { readonly id: SqliteBytes }[]).map((row) => textOf(row.id));
}

export function list(db: Database, options: ListOptions): readonly SessionSummary[] {
  const { parent, agent = null, root = null, after } = options;
  const status = options.status === undefined ? null : JSON.stringify(options.status);
  const ofParent = typeof parent === "string" ? [parent] : [parent === null ? 1 : null, null];
  const { updatedAt, sessionId } = after ?? { updatedAt: Number.POSITIVE_INFINITY, sessionId: "" };
  const isAfter = [updatedAt, updatedAt, updatedAt, sessionId];
  const filter = [status, status, ...ofParent, agent, agent, root, root, ...isAfter];
  const limit = asLimit(options.limit);
  const statement = typeof parent === "string" ? db.statements.listChildren : db.statements.list;
  const found = statement.all(...filter, limit, ...filter, limit) as readonly InBytes<rows.SummaryRow>[];
  return found.map((row) => summaryOf(db, row));
}

export function describe(db: Database, sessionId: string): SessionSummary | null {
  if (!isPossibleId(sessionId)) return null;
  const row = db.statements.summary.get(sessionId) as InBytes<rows.SummaryRow> | undefined;
  return row === undefined ? null : summaryOf(db, row);
}

export function asking(db: Database, { limit, after }: AskingOptions): readonly AskingSession[] {
  const { askedAt, sessionId } = after ?? { askedAt: Number.NEGATIVE_INFINITY, sessionId: "" };
  const found = db.statements.asking.all(askedAt, sessionId, asLimit(limit)) as readonly InBytes<rows.AskingRow>[];
  return found.map((row) => {
    const texts = { name: textOf(row.name), state: textOrNull(row.state) };
    return rows.askingFrom({ ...row, ...texts }, db.file);
  });
}

/** In SQLite a negative limit is no limit. */
function asLimit(limit = Number.POSITIVE_INFINITY): number {
  return Number.isFinite(limit) ? limit : -1;
}

function summaryOf(db: Database, row: InBytes<rows.SummaryRow>): SessionSummary {
  const texts = {
    name: textOf(row.name),
    activity: textOf(row.activity),
    holder: textOrNull(row.holder),
    info: textOrNull(row.info),
    status: textOf(row.status),
  };
  return rows.summaryFrom({ ...row, ...texts }, db.file);
}

export function due(db: Database, now: number, limit: number, isDead: (holder: Holder) => boolean): readonly string[] {
  const holders = db.statements.holders.all() as readonly {
    readonly holder: SqliteBytes;
    readonly name: SqliteBytes;
  }[];
  const dead = holders
    .map((row) => ({ holder: textOf(row.holder), place: { file: db.file, sessionId: textOf(row.name), seq: 0 } }))
    .filter(({ holder, place }) => isDead(decodeHolder(holder, place)))
    .map(({ holder }) => holder);
  const found = db.statements.due.all(now, now, now, JSON.stringify(dead), asLimit(limit)) as readonly {
    readonly name: SqliteBytes;
  }[];
  return found.map((row) => textOf(row.name));
}

export function getBlob(db: Database, sessionId: string, hash: string): Uint8Array | null {
  const id = idOf(db, sessionId);
  if (id === undefined) return null;
  const row = db.statements.blob.get(id, hash) as { readonly bytes: SqliteBytes } | undefined;
  if (row === undefined) return null;
  const bytes = bytesOf(row.bytes);
  if (hashOf(bytes) !== hash)
    throw corrupt({ file: db.file, sessionId, seq: 0 }, `blob ${hash} does not match its hash`);
  return bytes;
}

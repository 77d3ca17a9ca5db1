/**
 * Reads of sessions. Everything is validated on the way.
 */
import type { Entry } from "../../core/machine/event.js";
import type { InboxMessage } from "../../core/machine/inbox.js";
import { formatVersion } from "../../core/machine/state.js";
import type {
  Activity,
  AskingOptions,
  AskingSession,
  Holder,
  ListOptions,
  SessionSummary,
  StateAt,
} from "../../ports/store.js";
import { hashOf, isPossibleId } from "../shared/rules.js";
import {
  checkCommitSum,
  checkFormat,
  checkSum,
  corrupt,
  decodeEntries,
  decodeHolder,
  decodeInfo,
  decodeMessage,
  decodeState,
  isStatus,
  type RowPosition,
} from "../shared/validate.js";
import { bytesOf, type SqliteBytes, textOf } from "./driver.js";
import { type Database, idOf, stateAt } from "./sessions.js";

export function load(db: Database, sessionId: string): StateAt | null {
  return loadAt(db, sessionId, Number.MAX_SAFE_INTEGER);
}

/** The state in the last row at or before entry `seq`. */
export function loadAt(db: Database, sessionId: string, seq: number): StateAt | null {
  const id = idOf(db, sessionId);
  return id === undefined ? null : stateAt(db, sessionId, id, seq);
}

type LogRow = { readonly seq: number; readonly v: number; readonly events: SqliteBytes; readonly eventsSum: number };

/** Rows are fetched in portions, so that a long log is not in memory twice. */
const portion = 256;

export function read(db: Database, sessionId: string, after: number, limit: number): readonly Entry[] {
  const id = idOf(db, sessionId);
  if (id === undefined) return [];
  const entries: Entry[] = [];
  let last = after;
  while (entries.length < limit) {
    const rows = db.statements.rowsAfter.all(id, last, Math.min(portion, limit)) as readonly LogRow[];
    for (const row of rows) {
      const place = { file: db.file, sessionId, seq: row.seq };
      if (row.seq <= last) throw corrupt(place, "its rows are out of order");
      checkFormat(row.v, place);
      addEntries(entries, decodeEntries(checkCommitSum(textOf(row.events), row.eventsSum, place), place), after, place);
      last = row.seq;
      if (entries.length >= limit) break;
    }
    if (rows.length < Math.min(portion, limit)) break;
  }
  return entries.slice(0, limit);
}

/** Adds a row's entries that come after `after`; rows must follow each other. */
function addEntries(entries: Entry[], row: readonly Entry[], after: number, place: RowPosition): void {
  const last = entries.at(-1)?.seq ?? after;
  const first = row[0]?.seq ?? 0;
  if (first > last + 1 || (entries.length > 0 && first <= last))
    throw corrupt(place, `a commit starts with entry ${first}, after entry ${last}`);
  for (const entry of row) if (entry.seq > after) entries.push(entry);
}

export function inbox(db: Database, sessionId: string): readonly InboxMessage[] {
  const id = idOf(db, sessionId);
  if (id === undefined) return [];
  const place = { file: db.file, sessionId, seq: 0 };
  const rows = db.statements.inbox.all(id) as readonly { readonly body: SqliteBytes; readonly bodySum: number }[];
  return rows.map((row) => decodeMessage(checkSum(textOf(row.body), row.bodySum, place), place));
}

type SummaryRow = {
  readonly name: SqliteBytes;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly activity: SqliteBytes;
  readonly holder: SqliteBytes | null;
  readonly info: SqliteBytes | null;
  readonly infoSum: number | null;
  readonly seq: number;
  readonly inbox: number;
  /** Null if the log is empty. */
  readonly v: number | null;
  readonly status: SqliteBytes;
};

export function list(db: Database, options: ListOptions): readonly SessionSummary[] {
  const { parent, agent = null, root = null, after } = options;
  const status = options.status === undefined ? null : JSON.stringify(options.status);
  const ofParent = typeof parent === "string" ? [parent] : [parent === null ? 1 : null, null];
  const { updatedAt, sessionId } = after ?? { updatedAt: Number.POSITIVE_INFINITY, sessionId: "" };
  const isAfter = [updatedAt, updatedAt, updatedAt, sessionId];
  const filter = [status, status, ...ofParent, agent, agent, root, root, ...isAfter];
  const limit = asLimit(options.limit);
  const statement = typeof parent === "string" ? db.statements.listChildren : db.statements.list;
  const rows = statement.all(...filter, limit, ...filter, limit) as readonly SummaryRow[];
  return rows.map((row) => summaryOf(db, row));
}

export function describe(db: Database, sessionId: string): SessionSummary | null {
  if (!isPossibleId(sessionId)) return null;
  const row = db.statements.summary.get(sessionId) as SummaryRow | undefined;
  return row === undefined ? null : summaryOf(db, row);
}

type AskingRow = {
  readonly name: SqliteBytes;
  readonly askedAt: number;
  readonly seq: number | null;
  readonly inbox: number;
  readonly v: number | null;
  readonly state: SqliteBytes | null;
  readonly stateSum: number | null;
};

export function asking(db: Database, { limit, after }: AskingOptions): readonly AskingSession[] {
  const { askedAt, sessionId } = after ?? { askedAt: Number.NEGATIVE_INFINITY, sessionId: "" };
  const rows = db.statements.asking.all(askedAt, sessionId, asLimit(limit)) as readonly AskingRow[];
  return rows.map((row) => {
    const name = textOf(row.name);
    const place = { file: db.file, sessionId: name, seq: row.seq ?? 0 };
    if (row.state === null || row.v === null) throw corrupt(place, "it asks somebody, and has no log");
    const isNewer = row.v > formatVersion;
    const state = isNewer ? null : decodeState(checkCommitSum(textOf(row.state), row.stateSum, place), place);
    return { sessionId: name, askedAt: row.askedAt, state, inbox: row.inbox };
  });
}

/** In SQLite a negative limit is no limit. */
function asLimit(limit = Number.POSITIVE_INFINITY): number {
  return Number.isFinite(limit) ? limit : -1;
}

/** A session of a later version is listed too, as far as it can be read. */
function summaryOf(db: Database, row: SummaryRow): SessionSummary {
  const sessionId = textOf(row.name);
  const place = { file: db.file, sessionId, seq: row.seq };
  const status = textOf(row.status);
  const isNewer = row.v !== null && row.v > formatVersion;
  if (!isStatus(status)) {
    if (row.v !== null) checkFormat(row.v, place);
    throw corrupt(place, `its status ${JSON.stringify(status)} is unknown`);
  }
  return {
    sessionId,
    info: row.info === null || isNewer ? null : decodeInfo(checkSum(textOf(row.info), row.infoSum, place), place),
    status,
    activity: activityOf(textOf(row.activity), place),
    seq: row.seq,
    createdAt: row.createdAt,
    updatedAt: row.updatedAt,
    inbox: row.inbox,
    holder: row.holder === null ? null : decodeHolder(textOf(row.holder), place),
  };
}

export function activityOf(text: string, place: RowPosition): Activity {
  if (text === "resting" || text === "active" || text === "waiting") return text;
  throw corrupt(place, `its activity ${JSON.stringify(text)} is unknown`);
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
  const rows = db.statements.due.all(now, now, now, JSON.stringify(dead), asLimit(limit)) as readonly {
    readonly name: SqliteBytes;
  }[];
  return rows.map((row) => textOf(row.name));
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

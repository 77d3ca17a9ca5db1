/**
 * The tables, and every statement that is run on them.
 *
 * A commit is one row, keyed by its session's number and its last `seq` in one integer: an append touches the end of one
 * b-tree and nothing else. A session's own row is written only when what it says changes.
 */
import { voidBeyond } from "../shared/lease.js";
import type { SqliteHandle, SqliteStatement } from "./driver.js";

/** "Pawl" in ASCII: marks the file as ours. */
export const applicationId = 0x5061776c;

/** The version of these tables. (The format of what is in them is `formatVersion`, named by each row.) */
export const tablesVersion = 1;

/** Entries of a session have keys from its number times this one, on. */
export const keySpan = 2 ** 32;

export const createTables = `
CREATE TABLE store (epoch INTEGER NOT NULL) STRICT;
INSERT INTO store VALUES (0);
CREATE TABLE sessions (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  name TEXT NOT NULL UNIQUE,
  created_at REAL NOT NULL,
  epoch INTEGER NOT NULL DEFAULT 0,
  holder TEXT,
  lease_until REAL NOT NULL DEFAULT 0,
  lease_ms REAL NOT NULL DEFAULT 0,
  activity TEXT NOT NULL DEFAULT 'resting',
  due_at REAL,
  asked_at REAL
) STRICT;
CREATE INDEX sessions_by_epoch ON sessions (epoch);
CREATE INDEX sessions_held ON sessions (holder) WHERE holder IS NOT NULL;
CREATE INDEX sessions_due ON sessions (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX sessions_asking ON sessions (asked_at, name) WHERE asked_at IS NOT NULL;
CREATE TABLE commits (
  key INTEGER PRIMARY KEY,
  v INTEGER NOT NULL,
  status TEXT NOT NULL,
  at REAL NOT NULL,
  events TEXT NOT NULL,
  events_sum INTEGER NOT NULL,
  state TEXT NOT NULL,
  state_sum INTEGER NOT NULL
) STRICT;
CREATE TABLE messages (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  session INTEGER NOT NULL,
  id TEXT NOT NULL,
  at REAL NOT NULL,
  body TEXT,
  body_sum INTEGER,
  UNIQUE (session, id)
) STRICT;
CREATE INDEX inbox ON messages (session, at) WHERE body IS NOT NULL;
CREATE TABLE blobs (
  session INTEGER NOT NULL,
  hash TEXT NOT NULL,
  bytes BLOB NOT NULL,
  PRIMARY KEY (session, hash)
) STRICT;
PRAGMA application_id = ${applicationId};
PRAGMA user_version = ${tablesVersion};
`;

/** The key of the last commit of session `s`; null where there is none. */
const tail = `(SELECT key FROM commits WHERE key BETWEEN s.id * ${keySpan} AND s.id * ${keySpan} + ${keySpan - 1} ORDER BY key DESC LIMIT 1)`;

/**
 * Columns as they are read: text as bytes (see `textOf`), numbers as numbers. Damage can give any value another type, and
 * text that is no UTF-8 any more makes `libsql` end the process.
 */
function bytes(...columns: readonly string[]): string {
  return columns.map((column) => `CAST(${column} AS BLOB) AS ${nameOf(column)}`).join(", ");
}
function numbers(...columns: readonly string[]): string {
  return columns.map((column) => `CAST(${column} AS NUMERIC) AS ${nameOf(column)}`).join(", ");
}

/** `s.lease_until` is read as `leaseUntil`. */
function nameOf(column: string): string {
  return column.replace(/^.*\./, "").replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

// A message whose body is null was consumed: its id stays taken.
const statements = {
  head: `SELECT s.id, ${numbers("s.epoch", "s.lease_until", "s.lease_ms", "s.due_at", "s.asked_at")}, s.holder IS NOT NULL AS isHeld,
      CASE s.activity WHEN 'resting' THEN 0 WHEN 'active' THEN 1 WHEN 'waiting' THEN 2 END AS activity, ${tail} AS tail
    FROM sessions s WHERE s.name = ?`,
  holder: `SELECT ${bytes("holder")} FROM sessions WHERE id = ? AND holder IS NOT NULL`,
  addSession: "INSERT INTO sessions (name, created_at) VALUES (?, ?)",
  sessionId: "SELECT id FROM sessions WHERE name = ?",
  nextEpoch: "UPDATE store SET epoch = epoch + 1",
  epoch: `SELECT ${numbers("epoch")} FROM store`,
  hold: "UPDATE sessions SET epoch = ?, holder = ?, lease_until = ?, lease_ms = ? WHERE id = ?",
  letGo: "UPDATE sessions SET holder = NULL WHERE id = ?",
  renew:
    "UPDATE sessions SET lease_until = ?, lease_ms = ? WHERE holder IS NOT NULL AND epoch IN (SELECT value FROM json_each(?))",
  stillHeld: `SELECT ${bytes("name")}, ${numbers("epoch")} FROM sessions WHERE holder IS NOT NULL AND sessions.epoch IN (SELECT value FROM json_each(?))`,
  describe: "UPDATE sessions SET activity = ?, due_at = ?, asked_at = ? WHERE id = ?",

  append:
    "INSERT INTO commits (key, v, status, at, events, events_sum, state, state_sum) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
  stateAt: `SELECT ${bytes("state")}, ${numbers("v", "state_sum")} FROM commits WHERE key = ?`,
  rowsAfter: `SELECT key, ${bytes("events")}, ${numbers("v", "events_sum")} FROM commits WHERE key > ? AND key < ? ORDER BY key LIMIT ?`,
  rowAfter: `SELECT key, ${bytes("status", "events", "state")}, ${numbers("v", "events_sum", "state_sum")} FROM commits WHERE key > ? AND key < ? ORDER BY key LIMIT 1`,

  take: "INSERT INTO messages (session, id, at, body, body_sum) VALUES (?, ?, ?, ?, ?)",
  isTaken: "SELECT 1 FROM messages WHERE session = ? AND id = ?",
  consume: "UPDATE messages SET body = NULL WHERE session = ? AND id = ?",
  inbox: `SELECT ${bytes("body")}, ${numbers("body_sum")} FROM messages WHERE session = ? AND messages.body IS NOT NULL ORDER BY number`,
  inboxIds: `SELECT ${bytes("id")} FROM messages WHERE session = ? AND body IS NOT NULL LIMIT ?`,

  addBlob: "INSERT OR IGNORE INTO blobs (session, hash, bytes) VALUES (?, ?, ?)",
  blob: `SELECT ${bytes("bytes")} FROM blobs WHERE session = ? AND hash = ?`,
  hasBlob: "SELECT 1 FROM blobs WHERE session = ? AND hash = ?",
  blobAfter: `SELECT ${bytes("hash", "bytes")} FROM blobs WHERE session = ? AND blobs.hash > ? ORDER BY blobs.hash LIMIT 1`,

  dropCommits: "DELETE FROM commits WHERE key BETWEEN ? AND ?",
  dropMessages: "DELETE FROM messages WHERE session = ?",
  dropBlobs: "DELETE FROM blobs WHERE session = ?",
  dropSession: "DELETE FROM sessions WHERE id = ?",

  list: `WITH page AS (
      SELECT s.id, s.name, s.created_at, s.activity, s.holder, t.key, coalesce(t.at, s.created_at) AS updated_at
      FROM sessions s LEFT JOIN commits t ON t.key = ${tail}
      WHERE (? IS NULL OR coalesce(t.status, 'idle') IN (SELECT value FROM json_each(?)))
        AND (? IS NULL OR updated_at < ? OR (updated_at = ? AND s.name > ?))
      ORDER BY updated_at DESC, s.name LIMIT ?)
    SELECT p.id, ${bytes("p.name", "p.activity", "p.holder", "t.status", "t.state")},
      ${numbers("p.created_at", "p.updated_at", "t.v", "t.state_sum")}, p.key AS tail,
      (SELECT count(*) FROM messages m WHERE m.session = p.id AND m.body IS NOT NULL) AS inbox
    FROM page p LEFT JOIN commits t ON t.key = p.key ORDER BY p.updated_at DESC, p.name`,
  asking: `WITH page AS (
      SELECT id, name, asked_at FROM sessions WHERE asked_at IS NOT NULL AND (asked_at, name) > (?, ?)
      ORDER BY asked_at, name LIMIT ?)
    SELECT s.id, ${bytes("s.name", "t.state")}, ${numbers("s.asked_at", "t.v", "t.state_sum")}, t.key AS tail,
      (SELECT count(*) FROM messages m WHERE m.session = s.id AND m.body IS NOT NULL) AS inbox
    FROM page s LEFT JOIN commits t ON t.key = ${tail} ORDER BY s.asked_at, s.name`,
  holders: `SELECT ${bytes("holder")}, CAST(min(name) AS BLOB) AS name FROM sessions WHERE holder IS NOT NULL GROUP BY sessions.holder`,
  due: `WITH wanting (id, since) AS (
      SELECT id, due_at FROM sessions WHERE due_at <= ?
      UNION ALL SELECT session, min(at) FROM messages WHERE body IS NOT NULL GROUP BY session)
    SELECT ${bytes("s.name")} FROM (SELECT id, min(since) AS since FROM wanting GROUP BY id) w JOIN sessions s ON s.id = w.id
    WHERE s.holder IS NULL OR s.lease_until <= ? OR s.lease_until > ? + ${voidBeyond} * s.lease_ms
      OR s.holder IN (SELECT value FROM json_each(?))
    ORDER BY w.since, s.id LIMIT ?`,

  names: `SELECT id, ${bytes("name", "holder", "activity")}, ${numbers("asked_at")} FROM sessions WHERE id > ? AND (? IS NULL OR sessions.name = ?) ORDER BY id LIMIT 1`,
  strays: `SELECT count(*) AS count FROM (
      SELECT key / ${keySpan} AS session FROM commits UNION SELECT session FROM messages UNION SELECT session FROM blobs)
    WHERE session NOT IN (SELECT id FROM sessions)`,
  integrity: `SELECT CAST(integrity_check AS BLOB) AS finding FROM pragma_integrity_check`,

  dataVersion: "PRAGMA data_version",
  lastMessage: "SELECT coalesce(max(number), 0) AS number FROM messages",
  heldTails: `SELECT ${bytes("s.name")}, ${tail} AS tail FROM sessions s WHERE s.holder IS NOT NULL`,
  claimedSince: `SELECT ${bytes("name")} FROM sessions WHERE epoch > ?`,
  postedSince: `SELECT DISTINCT ${bytes("s.name")} FROM messages m JOIN sessions s ON s.id = m.session WHERE m.number > ?`,
} as const;

export type Statements = { readonly [Name in keyof typeof statements]: SqliteStatement };

export function prepareStatements(handle: SqliteHandle): Statements {
  const prepared: { [name: string]: SqliteStatement } = {};
  for (const [name, sql] of Object.entries(statements)) prepared[name] = withoutGet(handle.prepare(sql));
  return prepared as Statements;
}

/**
 * In `libsql` a `get` that fails leaves its parameters behind, and the next one answers for those: with another session's row, and
 * no error. `all` begins anew each time.
 */
function withoutGet(statement: SqliteStatement): SqliteStatement {
  return {
    run: (...values) => statement.run(...values),
    get: (...values) => statement.all(...values)[0],
    all: (...values) => statement.all(...values),
  };
}

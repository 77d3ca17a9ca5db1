/**
 * The tables, and every statement that is run on them. Decision 0024 explains their design.
 *
 * 1. A commit is one row, appended to its table, whichever session it belongs to: commits of many sessions in one transaction share pages.
 *    An index finds the rows of a session.
 * 2. A commit does not write the session's own row. The row is written when the session is claimed or released, or when its description
 *    changes.
 * 3. While a session is not held, its own row describes its last commit (`v`, `seq`, `status`, `updated_at`). While it is held, these
 *    columns are outdated, and the last commit itself is read.
 */
import { maxLeaseFactor } from "../shared/lease.js";
import { bytes, numbers } from "./columns.js";
import type { SqliteHandle, SqliteStatement } from "./driver.js";
import { noticeStatements, scheduleStatements, signalStatements, timeTables } from "./time-schema.js";

/** "Pawl" in ASCII: marks the file as a Pawl store. */
export const applicationId = 0x5061776c;

/** The version of these tables. (The format of their content is `formatVersion`, which each row names.) */
export const tablesVersion = 4;

/** The version of the tables of the first release, 0.1. */
export const firstTablesVersion = 2;

/**
 * Version 4: columns for lists. Rows that earlier versions wrote do not have them; their values are read from the last commit.
 *
 * A process of 0.1 that has the file open does not write `search`. The trigger clears it when such a process changes the title, so that a
 * redaction leaves no removed text there.
 */
const listColumns = `
ALTER TABLE sessions ADD COLUMN search TEXT;
ALTER TABLE sessions ADD COLUMN overview TEXT;
ALTER TABLE sessions ADD COLUMN overview_seq INTEGER;
ALTER TABLE sessions ADD COLUMN overview_sum INTEGER;
CREATE TRIGGER sessions_search AFTER UPDATE OF title ON sessions
WHEN NEW.title IS NOT OLD.title AND NEW.search IS OLD.search
BEGIN UPDATE sessions SET search = NULL WHERE id = NEW.id; END;
`;

/** The statements that update the tables from this version to the current one. Processes that have them open continue to work. */
export function updateTables(from: number): string {
  return `${from < 3 ? timeTables : ""}${listColumns}PRAGMA user_version = ${tablesVersion};`;
}

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
  asked_at REAL,
  agent TEXT,
  parent TEXT,
  title TEXT,
  root TEXT,
  principal TEXT,
  info TEXT,
  info_sum INTEGER,
  v INTEGER,
  seq INTEGER NOT NULL DEFAULT 0,
  status TEXT NOT NULL DEFAULT 'idle',
  updated_at REAL NOT NULL
) STRICT;
CREATE INDEX sessions_by_epoch ON sessions (epoch);
CREATE INDEX sessions_held ON sessions (holder) WHERE holder IS NOT NULL;
CREATE INDEX sessions_due ON sessions (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX sessions_asking ON sessions (asked_at, name) WHERE asked_at IS NOT NULL;
CREATE INDEX sessions_by_parent ON sessions (parent) WHERE parent IS NOT NULL;
CREATE INDEX sessions_by_update ON sessions (updated_at DESC, name, status, agent, parent, root);
CREATE TABLE commits (
  number INTEGER PRIMARY KEY,
  session INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  v INTEGER NOT NULL,
  status TEXT NOT NULL,
  at REAL NOT NULL,
  events TEXT NOT NULL,
  events_sum INTEGER NOT NULL,
  state TEXT NOT NULL,
  state_sum INTEGER NOT NULL,
  UNIQUE (session, seq)
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
${updateTables(firstTablesVersion)}`;

/** The number of the last entry of a session; null if its log is empty. Only the index is read. */
const tailQuery = (id: string): string => `(SELECT seq FROM commits WHERE session = ${id} ORDER BY seq DESC LIMIT 1)`;
const tail = tailQuery("s.id");

const idAndTitle = "s.name || char(10) || coalesce(s.title, '')";
/**
 * Bound to a lower-case text twice, and then to the original text; null for no filter. SQLite's own `lower` handles only the letters A to
 * Z, so in rows of 0.1 other letters are found only if their case matches.
 */
const textFilter = `(? IS NULL OR instr(coalesce(s.search, lower(${idAndTitle})), ?) > 0
  OR s.search IS NULL AND instr(${idAndTitle}, ?) > 0)`;
/** Bound twice: null for no filter, otherwise a JSON list of statuses. */
const statusFilter = (status: string): string => `(? IS NULL OR ${status} IN (SELECT value FROM json_each(?)))`;
/** Bound in this order: agent twice, root twice (null for no filter). */
const agentAndRootFilter = "(? IS NULL OR s.agent = ?) AND (? IS NULL OR s.root = ?)";
/** Bound in this order: the time three times, and the id. */
const afterFilter = (updatedAt: string): string =>
  `${updatedAt} <= ? AND (${updatedAt} < ? OR (${updatedAt} = ? AND s.name > ?))`;

/** The columns of a summary. `p` is the last commit, `s` the session. */
const summaryColumns = `s.id, ${bytes("s.name", "s.activity", "s.holder", "s.info", "p.status")},
  ${numbers("s.created_at", "s.info_sum", "p.updated_at", "p.v", "p.seq")},
  (SELECT count(*) FROM messages m WHERE m.session = s.id AND m.body IS NOT NULL) AS inbox`;

/** The overview in the row if no commit came after it, otherwise the state from which it follows. */
const isOverviewCurrent = "s.overview_seq IS p.seq";
const lastCommitColumn = (column: string): string =>
  `CASE WHEN ${isOverviewCurrent} THEN NULL ELSE (SELECT c.${column} FROM commits c WHERE c.session = s.id AND c.seq = p.seq) END`;
const overviewColumns = `${summaryColumns},
  CAST(CASE WHEN ${isOverviewCurrent} THEN s.overview END AS BLOB) AS overview, ${numbers("s.overview_sum")},
  CAST(${lastCommitColumn("state")} AS BLOB) AS state, CAST(${lastCommitColumn("state_sum")} AS NUMERIC) AS stateSum,
  EXISTS (SELECT 1 FROM sessions c WHERE c.parent = s.name) AS hasChildren`;

/** The last commit of a held session. */
const heldCommitJoin = `LEFT JOIN commits t ON t.session = s.id AND t.seq = ${tail}`;
const heldColumns =
  "t.v AS v, coalesce(t.seq, 0) AS seq, coalesce(t.status, 'idle') AS status, coalesce(t.at, s.created_at) AS updated_at";

/**
 * A page of a list. Sessions that are not held come from an index, at most one page, and the filters are covered by that index. Held
 * sessions are few, so all of them are examined.
 *
 * @param indexHint the index that finds the sessions that are not held
 * @param parentFilter a condition on the parent
 * @param columns the columns of each row, from the session `s` and its last commit `p`
 */
function listQuery(indexHint: string, parentFilter: string, columns: string): string {
  return `WITH resting AS (
      SELECT s.id, s.v, s.seq, s.status, s.updated_at FROM sessions s ${indexHint}
      WHERE s.holder IS NULL AND ${statusFilter("s.status")} AND ${parentFilter} AND ${agentAndRootFilter} AND ${afterFilter("s.updated_at")}
        AND ${textFilter}
      ORDER BY s.updated_at DESC, s.name LIMIT ?),
    held AS (
      SELECT s.id, ${heldColumns} FROM sessions s ${heldCommitJoin}
      WHERE s.holder IS NOT NULL AND ${statusFilter("coalesce(t.status, 'idle')")} AND ${parentFilter} AND ${agentAndRootFilter}
        AND ${afterFilter("coalesce(t.at, s.created_at)")} AND ${textFilter}),
    page AS (SELECT * FROM resting UNION ALL SELECT * FROM held)
  SELECT ${columns} FROM page p JOIN sessions s ON s.id = p.id ORDER BY p.updated_at DESC, s.name LIMIT ?`;
}

const [byUpdate, byParent] = ["INDEXED BY sessions_by_update", "INDEXED BY sessions_by_parent"];
const [anyParent, oneParent] = ["(? IS NULL OR s.parent IS ?)", "s.parent = ?"];

/** The statements. A message with a null body was consumed: its id stays taken. */
export const statements = {
  head: `SELECT s.id, ${numbers("s.epoch", "s.lease_until", "s.lease_ms", "s.due_at", "s.asked_at", "s.info_sum")},
      s.holder IS NOT NULL AS isHeld,
      CASE s.activity WHEN 'resting' THEN 0 WHEN 'active' THEN 1 WHEN 'waiting' THEN 2 END AS activity, ${tail} AS tail
    FROM sessions s WHERE s.name = ?`,
  holder: `SELECT ${bytes("holder")} FROM sessions WHERE id = ? AND holder IS NOT NULL`,
  addSession: "INSERT INTO sessions (name, created_at, updated_at) VALUES (?, ?, ?)",
  sessionId: "SELECT id FROM sessions WHERE name = ?",
  nextEpoch: "UPDATE store SET epoch = epoch + 1",
  epoch: `SELECT ${numbers("epoch")} FROM store`,
  hold: "UPDATE sessions SET epoch = ?, holder = ?, lease_until = ?, lease_ms = ? WHERE id = ?",
  renew:
    "UPDATE sessions SET lease_until = ?, lease_ms = ? WHERE holder IS NOT NULL AND epoch IN (SELECT value FROM json_each(?))",
  stillHeld: `SELECT ${bytes("name")}, ${numbers("epoch")} FROM sessions WHERE holder IS NOT NULL AND sessions.epoch IN (SELECT value FROM json_each(?))`,
  describe: "UPDATE sessions SET activity = ?, due_at = ?, asked_at = ? WHERE id = ?",
  introduce:
    "UPDATE sessions SET agent = ?, parent = ?, title = ?, root = ?, principal = ?, info = ?, info_sum = ?, search = ? WHERE id = ?",
  summarize: "UPDATE sessions SET overview = ?, overview_seq = ?, overview_sum = ? WHERE id = ?",
  clearHolder: "UPDATE sessions SET holder = NULL WHERE id = ?",
  /** Releases the lease, and records the last commit (rule 3 above). */
  rest: `UPDATE sessions SET holder = NULL, (v, seq, status, updated_at) =
      (SELECT v, seq, status, at FROM commits WHERE session = sessions.id ORDER BY seq DESC LIMIT 1) WHERE id = ?`,

  append:
    "INSERT INTO commits (session, seq, v, status, at, events, events_sum, state, state_sum) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
  stateAt: `SELECT seq, ${bytes("state")}, ${numbers("v", "state_sum")} FROM commits
    WHERE session = ? AND seq <= ? ORDER BY seq DESC LIMIT 1`,
  rowsAfter: `SELECT seq, ${bytes("events")}, ${numbers("v", "events_sum")} FROM commits
    WHERE session = ? AND seq > ? ORDER BY seq LIMIT ?`,
  rowAfter: `SELECT seq, ${bytes("status", "events", "state")}, ${numbers("v", "at", "events_sum", "state_sum")} FROM commits
    WHERE session = ? AND seq > ? ORDER BY seq LIMIT 1`,
  redactable: `SELECT seq, ${bytes("events", "state")}, ${numbers("v", "events_sum", "state_sum")} FROM commits
    WHERE session = ? AND seq > ? ORDER BY seq LIMIT ?`,
  replace: "UPDATE commits SET events = ?, events_sum = ?, state = ?, state_sum = ? WHERE session = ? AND seq = ?",
  newestFormat: `SELECT ${numbers("v")} FROM commits ORDER BY number DESC LIMIT 1`,

  take: "INSERT INTO messages (session, id, at, body, body_sum) VALUES (?, ?, ?, ?, ?)",
  isTaken: "SELECT 1 FROM messages WHERE session = ? AND id = ?",
  consume: "UPDATE messages SET body = NULL WHERE session = ? AND id = ?",
  inbox: `SELECT ${bytes("body")}, ${numbers("body_sum")} FROM messages WHERE session = ? AND messages.body IS NOT NULL ORDER BY number`,
  messageIds: `SELECT ${bytes("id")} FROM messages WHERE session = ? AND messages.id > ? ORDER BY messages.id LIMIT ?`,
  inboxIds: `SELECT ${bytes("id")} FROM messages WHERE session = ? AND body IS NOT NULL LIMIT ?`,

  addBlob: "INSERT OR IGNORE INTO blobs (session, hash, bytes) VALUES (?, ?, ?)",
  blob: `SELECT ${bytes("bytes")} FROM blobs WHERE session = ? AND hash = ?`,
  hasBlob: "SELECT 1 FROM blobs WHERE session = ? AND hash = ?",
  blobAfter: `SELECT ${bytes("hash", "bytes")} FROM blobs WHERE session = ? AND blobs.hash > ? ORDER BY blobs.hash LIMIT 1`,

  dropBlob: "DELETE FROM blobs WHERE session = ? AND hash = ?",
  dropCommits: "DELETE FROM commits WHERE session = ?",
  dropMessages: "DELETE FROM messages WHERE session = ?",
  dropBlobs: "DELETE FROM blobs WHERE session = ?",
  dropSession: "DELETE FROM sessions WHERE id = ?",

  list: listQuery(byUpdate, anyParent, summaryColumns),
  listChildren: listQuery(byParent, oneParent, summaryColumns),
  listOverviews: listQuery(byUpdate, anyParent, overviewColumns),
  listChildOverviews: listQuery(byParent, oneParent, overviewColumns),
  summary: `SELECT ${summaryColumns} FROM (SELECT s.id AS id, CASE WHEN s.holder IS NULL THEN s.v ELSE t.v END AS v,
        CASE WHEN s.holder IS NULL THEN s.seq ELSE coalesce(t.seq, 0) END AS seq,
        CASE WHEN s.holder IS NULL THEN s.status ELSE coalesce(t.status, 'idle') END AS status,
        CASE WHEN s.holder IS NULL THEN s.updated_at ELSE coalesce(t.at, s.created_at) END AS updated_at
      FROM sessions s LEFT JOIN commits t ON s.holder IS NOT NULL AND t.session = s.id AND t.seq = ${tail} WHERE s.name = ?) p
    JOIN sessions s ON s.id = p.id`,
  asking: `WITH page AS (
      SELECT id, name, asked_at FROM sessions WHERE asked_at IS NOT NULL AND (asked_at, name) > (?, ?)
      ORDER BY asked_at, name LIMIT ?)
    SELECT ${bytes("p.name", "t.state")}, ${numbers("p.asked_at", "t.v", "t.state_sum")}, t.seq,
      (SELECT count(*) FROM messages m WHERE m.session = p.id AND m.body IS NOT NULL) AS inbox
    FROM page p LEFT JOIN commits t ON t.session = p.id AND t.seq = ${tailQuery("p.id")} ORDER BY p.asked_at, p.name`,
  holders: `SELECT ${bytes("holder")}, CAST(min(name) AS BLOB) AS name FROM sessions WHERE holder IS NOT NULL GROUP BY sessions.holder`,
  due: `WITH wanting (id, since) AS (
      SELECT id, due_at FROM sessions WHERE due_at <= ?
      UNION ALL SELECT session, min(at) FROM messages WHERE body IS NOT NULL GROUP BY session)
    SELECT ${bytes("s.name")} FROM (SELECT id, min(since) AS since FROM wanting GROUP BY id) w JOIN sessions s ON s.id = w.id
    WHERE s.holder IS NULL OR s.lease_until <= ? OR s.lease_until > ? + ${maxLeaseFactor} * s.lease_ms
      OR s.holder IN (SELECT value FROM json_each(?))
    ORDER BY w.since, s.id LIMIT ?`,

  names: `SELECT id, ${bytes("name", "holder", "activity", "status", "agent", "parent", "title", "root", "principal", "info", "overview")},
      ${numbers("asked_at", "info_sum", "v", "seq", "updated_at", "overview_seq", "overview_sum")}
    FROM sessions WHERE id > ? AND (? IS NULL OR sessions.name = ?) ORDER BY id LIMIT 1`,
  strays: `SELECT count(*) AS count FROM (
      SELECT session FROM commits UNION SELECT session FROM messages UNION SELECT session FROM blobs UNION SELECT session FROM waits)
    WHERE session NOT IN (SELECT id FROM sessions)`,
  integrity: `SELECT CAST(integrity_check AS BLOB) AS finding FROM pragma_integrity_check`,

  ...signalStatements,
  ...scheduleStatements,
  ...noticeStatements,

  dataVersion: "PRAGMA data_version",
  lastMessage: "SELECT coalesce(max(number), 0) AS number FROM messages",
  heldTails: `SELECT ${bytes("s.name")}, ${tail} AS tail FROM sessions s WHERE s.holder IS NOT NULL`,
  claimedSince: `SELECT ${bytes("name")} FROM sessions WHERE epoch > ?`,
  /** How many sessions were ever deleted. Ids are never used twice. */
  deletedSessions: `SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'sessions'), 0) - (SELECT count(*) FROM sessions) AS count`,
  postedSince: `SELECT DISTINCT ${bytes("s.name")} FROM messages m JOIN sessions s ON s.id = m.session WHERE m.number > ?`,
} as const;

export type Statements = { readonly [Name in keyof typeof statements]: SqliteStatement };

/** The database of a store, as its modules need it. */
export type Database = { readonly statements: Statements; readonly file: string };

export function prepareStatements(handle: SqliteHandle): Statements {
  const prepared: { [name: string]: SqliteStatement } = {};
  for (const [name, sql] of Object.entries(statements)) prepared[name] = avoidGet(handle.prepare(sql));
  return prepared as Statements;
}

/**
 * In `libsql`, a `get` that fails leaves its parameters behind, and the next `get` uses them: it returns another session's row, without an
 * error. `all` starts afresh each time.
 */
function avoidGet(statement: SqliteStatement): SqliteStatement {
  return {
    run: (...values) => statement.run(...values),
    get: (...values) => statement.all(...values)[0],
    all: (...values) => statement.all(...values),
  };
}

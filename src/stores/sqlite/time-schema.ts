/**
 * The tables of signals, schedules and notices, and the statements that are run on them. Version 3 of the tables added them.
 *
 * 1. `waits` follows from the states of sessions, like `due_at`. `given` is the id of the message that delivered the wait's signal.
 * 2. `pending` marks a signal that has not reached all waits yet. The waits are served in pages, and the next sender continues.
 * 3. `endpoints` are the destinations of notices. A row of `notices` without `due_at` is dead.
 * 4. A row of `schedules` with a `session` is a delayed message of that session. `last` is the run that was posted last, as JSON.
 */
import { bytes, numbers } from "./columns.js";

export const timeTables = `
CREATE TABLE waits (
  session INTEGER NOT NULL,
  call TEXT NOT NULL,
  step TEXT NOT NULL,
  key TEXT NOT NULL,
  expires_at REAL,
  given TEXT,
  PRIMARY KEY (session, call, step)
) STRICT, WITHOUT ROWID;
CREATE INDEX waits_by_key ON waits (key, session, call, step) WHERE given IS NULL;
CREATE TABLE signals (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  key TEXT NOT NULL,
  id TEXT NOT NULL,
  at REAL NOT NULL,
  kept_until REAL NOT NULL,
  pending INTEGER NOT NULL DEFAULT 1,
  body TEXT NOT NULL,
  body_sum INTEGER NOT NULL,
  UNIQUE (key, id)
) STRICT;
CREATE INDEX signals_by_key ON signals (key, number);
CREATE INDEX signals_pending ON signals (key, number) WHERE pending = 1;
CREATE INDEX signals_kept ON signals (kept_until);
CREATE TABLE schedules (
  id TEXT PRIMARY KEY,
  rev INTEGER NOT NULL,
  slot REAL,
  due_at REAL,
  session TEXT,
  last TEXT,
  body TEXT NOT NULL,
  body_sum INTEGER NOT NULL
) STRICT;
CREATE INDEX schedules_due ON schedules (due_at, id) WHERE due_at IS NOT NULL;
CREATE INDEX schedules_by_session ON schedules (session, id);
CREATE TABLE slots (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  schedule TEXT NOT NULL,
  body TEXT NOT NULL
) STRICT;
CREATE INDEX slots_by_schedule ON slots (schedule, number);
CREATE TABLE endpoints (
  id TEXT PRIMARY KEY,
  body TEXT NOT NULL,
  body_sum INTEGER NOT NULL
) STRICT;
CREATE TABLE notices (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  endpoint TEXT NOT NULL,
  id TEXT NOT NULL,
  session TEXT,
  at REAL NOT NULL,
  due_at REAL,
  tries INTEGER NOT NULL DEFAULT 0,
  body TEXT NOT NULL,
  body_sum INTEGER NOT NULL,
  UNIQUE (endpoint, id)
) STRICT;
CREATE INDEX notices_due ON notices (endpoint, due_at, number) WHERE due_at IS NOT NULL;
CREATE INDEX notices_by_session ON notices (session) WHERE session IS NOT NULL;
`;

export const signalStatements = {
  waitsOf: `SELECT ${bytes("call", "step", "key", "given")}, ${numbers("expires_at")} FROM waits WHERE session = ?`,
  addWait: "INSERT INTO waits (session, call, step, key, expires_at) VALUES (?, ?, ?, ?, ?)",
  endWait: "DELETE FROM waits WHERE session = ? AND call = ? AND step = ?",
  serveWait: "UPDATE waits SET given = ? WHERE session = ? AND call = ? AND step = ?",
  /** Bound: the key, the time at which the signal was sent, the last wait of the previous page (three columns), and the limit. */
  openWaits: `SELECT w.session, ${bytes("w.call", "w.step", "s.name")} FROM waits w JOIN sessions s ON s.id = w.session
    WHERE w.key = ? AND w.given IS NULL AND (w.expires_at IS NULL OR w.expires_at > ?)
      AND (w.session, w.call, w.step) > (?, ?, ?) ORDER BY w.session, w.call, w.step LIMIT ?`,
  dropWaits: "DELETE FROM waits WHERE session = ?",
  /** A consumed message stays, because its call has had the signal. */
  takeBack: "DELETE FROM messages WHERE session = ? AND id = ? AND body IS NOT NULL",
  hasHad: "SELECT 1 FROM messages WHERE session = ? AND id >= ? AND id < ? LIMIT 1",

  addSignal: "INSERT INTO signals (key, id, at, kept_until, body, body_sum) VALUES (?, ?, ?, ?, ?, ?)",
  signal: `SELECT number, pending, ${numbers("kept_until")} FROM signals WHERE signals.key = ? AND signals.id = ?`,
  countSignals: "SELECT count(*) AS count FROM signals WHERE key = ? AND kept_until > ?",
  /** Bound: the key, the number of the previous signal, the time of the commit, and the end of the wait (twice). */
  keptSignals: `SELECT number, ${bytes("id", "body")}, ${numbers("body_sum")} FROM signals
    WHERE signals.key = ? AND number > ? AND kept_until > ? AND (? IS NULL OR at < ?) ORDER BY number LIMIT 100`,
  pendingSignal: `SELECT number, ${bytes("body")}, ${numbers("body_sum")} FROM signals
    WHERE signals.key = ? AND pending = 1 ORDER BY number LIMIT 1`,
  settleSignal: "UPDATE signals SET pending = 0 WHERE number = ?",
  dropSignal: "DELETE FROM signals WHERE number = ?",
  expiredSignals: "SELECT number FROM signals WHERE kept_until <= ? AND pending = 0 ORDER BY kept_until LIMIT ?",
  signalList: `SELECT ${bytes("body")}, ${numbers("body_sum")} FROM signals
    WHERE kept_until > ? AND (signals.key, number) > (?, coalesce((SELECT number FROM signals WHERE key = ? AND id = ?), -1))
    ORDER BY signals.key, number LIMIT ?`,
} as const;

const scheduleColumns = `${bytes("id", "session", "last", "body")}, rev, ${numbers("slot", "due_at", "body_sum")}`;

export const scheduleStatements = {
  schedule: `SELECT ${scheduleColumns} FROM schedules WHERE schedules.id = ?`,
  scheduleList: `SELECT ${scheduleColumns} FROM schedules WHERE schedules.session IS ? AND schedules.id > ? ORDER BY schedules.id LIMIT ?`,
  delayedList: `SELECT ${scheduleColumns} FROM schedules WHERE schedules.session IS NOT NULL AND schedules.id > ? ORDER BY schedules.id LIMIT ?`,
  hasDelayed: "SELECT 1 FROM schedules WHERE session = ? LIMIT 1",
  dueSchedules: `SELECT ${scheduleColumns} FROM schedules WHERE schedules.due_at <= ? ORDER BY schedules.due_at, schedules.id LIMIT ?`,
  nextDueSchedule: `SELECT ${numbers("due_at")} FROM schedules WHERE schedules.due_at > ? ORDER BY schedules.due_at LIMIT 1`,
  /** Two parameters, because libsql mistakes a single null for an object of named parameters. */
  countSchedules: "SELECT count(*) AS count FROM (SELECT 1 FROM schedules WHERE session IS ? LIMIT ?)",
  putSchedule: `INSERT INTO schedules (id, rev, slot, due_at, session, body, body_sum) VALUES (?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (id) DO UPDATE SET rev = excluded.rev, slot = excluded.slot, due_at = excluded.due_at, session = excluded.session,
      body = excluded.body, body_sum = excluded.body_sum`,
  moveSchedule: "UPDATE schedules SET slot = ?, due_at = ?, last = ? WHERE id = ?",
  dropSchedule: "DELETE FROM schedules WHERE id = ?",
  dropDelayed: "DELETE FROM schedules WHERE session = ?",
  slots: `SELECT ${bytes("body")} FROM slots WHERE schedule = ? ORDER BY number DESC LIMIT ?`,
  addSlot: "INSERT INTO slots (schedule, body) VALUES (?, ?)",
  trimSlots:
    "DELETE FROM slots WHERE schedule = ? AND number <= (SELECT number FROM slots WHERE schedule = ? ORDER BY number DESC LIMIT 1 OFFSET ?)",
  dropSlots: "DELETE FROM slots WHERE schedule = ?",
} as const;

const noticeColumns = `number, ${bytes("endpoint", "id", "session", "body")}, tries, ${numbers("at", "due_at", "body_sum")}`;

export const noticeStatements = {
  /** Due at once, independent of the clocks of the processes that commit and deliver. */
  addNotice: `INSERT OR IGNORE INTO notices (endpoint, id, session, at, due_at, body, body_sum)
    SELECT endpoints.id, ?, ?, ?, 0, ?, ? FROM endpoints`,
  putDestination: `INSERT INTO endpoints (id, body, body_sum) VALUES (?, ?, ?)
    ON CONFLICT (id) DO UPDATE SET body = excluded.body, body_sum = excluded.body_sum`,
  hasDestination: "SELECT 1 FROM endpoints WHERE id = ?",
  dropDestination: "DELETE FROM endpoints WHERE id = ?",
  destinations: `SELECT ${bytes("id", "body")}, ${numbers("body_sum")} FROM endpoints ORDER BY endpoints.id`,
  notice: `SELECT ${noticeColumns} FROM notices WHERE number = ?`,
  dueNotices: `SELECT ${noticeColumns} FROM notices WHERE notices.endpoint = ? AND notices.due_at <= ? ORDER BY notices.due_at, number LIMIT ?`,
  /** The first parameter is a JSON array of destinations. */
  dueNoticesForEach: `SELECT ${noticeColumns} FROM notices WHERE number IN (
    SELECT n.number FROM json_each(?) AS wanted CROSS JOIN notices AS n ON n.number IN (SELECT due.number FROM notices AS due
      WHERE due.endpoint = wanted.value AND due.due_at <= ? ORDER BY due.due_at, due.number LIMIT ?))
    ORDER BY notices.endpoint, notices.due_at, number`,
  noticeList: `SELECT ${noticeColumns} FROM notices WHERE (? = 0 OR notices.due_at IS NULL) AND number > ? ORDER BY number LIMIT ?`,
  replaceNotice: "UPDATE notices SET due_at = ?, tries = ?, body = ?, body_sum = ? WHERE number = ?",
  dropNotice: "DELETE FROM notices WHERE number = ?",
  dropNoticesOfDestination: "DELETE FROM notices WHERE endpoint = ?",
  dropNoticesOfSession: "DELETE FROM notices WHERE session = ?",
  /** Bound: the time twice, and a JSON list of the caller's destinations. */
  oldNotices: `SELECT number FROM notices WHERE notices.at < ? AND (notices.due_at IS NULL
      OR (notices.due_at < ? AND notices.endpoint NOT IN (SELECT value FROM json_each(?)))) ORDER BY number LIMIT 1000`,
} as const;

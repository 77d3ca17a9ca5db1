-- The tables of a SQLite store as Pawl 0.1.0 made them.
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
PRAGMA application_id = 1348564844;
PRAGMA user_version = 2;

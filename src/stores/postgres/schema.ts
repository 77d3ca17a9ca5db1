/**
 * The tables of a PostgreSQL store, and the functions that write to them.
 *
 * 1. One store operation is one statement that commits by itself. It needs no transaction and no connection state, so a pooler may send
 *    each statement through a different connection.
 * 2. Every write to a session locks the session's row first. A message can therefore not be posted between the check of the inbox and a
 *    release.
 * 3. A commit is one row, as in SQLite, and the session's own row describes the last commit only while the session is not held.
 * 4. A lease is compared by its epoch and its holder, because after a failover that lost rows an epoch may be used twice.
 * 5. Bodies are `text`. `jsonb` would reject NUL and change numbers. Names sort by their bytes, so every database sorts them alike.
 * 6. Rows that other processes poll for (commits, messages) have the number of their transaction. A snapshot shows below which number no
 *    more rows can become visible. Rows do not become visible in the order of their own numbers.
 * 7. Leases use the server's clock, `now_ms`, because the clocks of two clients may differ by more than the length of a lease.
 */
import { timeTables } from "./time-tables.js";

const createTablesSql = `
CREATE TABLE migrations (version int PRIMARY KEY, at timestamptz NOT NULL DEFAULT now());
CREATE SEQUENCE epochs;
CREATE TABLE sessions (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name text COLLATE "C" NOT NULL UNIQUE,
  created_at float8 NOT NULL,
  epoch bigint NOT NULL DEFAULT 0,
  holder text COLLATE "C",
  lease_until float8 NOT NULL DEFAULT 0,
  lease_ms float8 NOT NULL DEFAULT 0,
  activity text NOT NULL DEFAULT 'resting',
  due_at float8,
  asked_at float8,
  agent text COLLATE "C",
  parent text COLLATE "C",
  title text,
  root text COLLATE "C",
  principal text COLLATE "C",
  info text,
  info_sum bigint,
  v int,
  seq bigint NOT NULL DEFAULT 0,
  status text NOT NULL DEFAULT 'idle',
  updated_at float8 NOT NULL
) WITH (fillfactor = 70);
CREATE INDEX sessions_by_epoch ON sessions (epoch);
CREATE INDEX sessions_held ON sessions (holder) WHERE holder IS NOT NULL;
CREATE INDEX sessions_due ON sessions (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX sessions_asking ON sessions (asked_at, name) WHERE asked_at IS NOT NULL;
CREATE INDEX sessions_by_parent ON sessions (parent) WHERE parent IS NOT NULL;
CREATE INDEX sessions_by_update ON sessions (updated_at DESC, name);
CREATE TABLE commits (
  number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  session bigint NOT NULL,
  seq bigint NOT NULL,
  v int NOT NULL,
  status text NOT NULL,
  at float8 NOT NULL,
  epoch bigint NOT NULL,
  events text NOT NULL,
  events_sum bigint NOT NULL,
  state text NOT NULL,
  state_sum bigint NOT NULL,
  tx xid8 NOT NULL DEFAULT pg_current_xact_id(),
  UNIQUE (session, seq)
);
CREATE INDEX commits_by_tx ON commits (tx);
CREATE TABLE messages (
  number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  session bigint NOT NULL,
  id text COLLATE "C" NOT NULL,
  at float8 NOT NULL,
  body text,
  body_sum bigint,
  tx xid8 NOT NULL DEFAULT pg_current_xact_id(),
  UNIQUE (session, id)
);
CREATE INDEX messages_by_tx ON messages (tx);
CREATE INDEX inbox ON messages (session, number) WHERE body IS NOT NULL;
CREATE TABLE blobs (
  session bigint NOT NULL,
  hash text COLLATE "C" NOT NULL,
  bytes bytea NOT NULL,
  PRIMARY KEY (session, hash)
);
`;

/**
 * The statements that update the tables from each version to the next. The first ones create them, in an empty schema. Afterwards all
 * functions are recreated, whatever the version was. (The format of the tables' content is `formatVersion`, which each row names.)
 *
 * 2: only functions changed. `tail_of` is not dropped, because a commit in progress may call it.
 * 3: an index for lists by status, and functions that read. Without the index, a list of active sessions reads every session that has
 * ended.
 * 4: signals, schedules and notices; functions that take the format of what they write, in addition to those that processes of 0.1 call.
 * 5: columns for lists. Rows that earlier versions wrote do not have them; their values are read from the last commit.
 */
export const migrations: readonly (readonly string[])[] = [
  [createTablesSql],
  [],
  ["CREATE INDEX sessions_by_status ON sessions (status, updated_at DESC, name) WHERE holder IS NULL"],
  [timeTables],
  [
    "ALTER TABLE sessions ADD COLUMN search text, ADD COLUMN overview text, ADD COLUMN overview_seq bigint, ADD COLUMN overview_sum bigint",
  ],
];

/** Quotes a name for a statement. */
export function quoteIdentifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** Quotes a string for a statement. */
export function quoteLiteral(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

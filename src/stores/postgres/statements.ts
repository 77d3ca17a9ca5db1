/**
 * The statements of a PostgreSQL store. Numbers are read as `float8`, because drivers return `bigint` in different forms.
 */
import type { PostgresQuery } from "./client.js";
import { liveLeaseSql } from "./functions.js";
import { scheduleStatements } from "./schedule-functions.js";
import { quoteIdentifier } from "./schema.js";

/** The columns of an appended commit with their types, in the order of the parameters of `append`. */
export const appendTypes = [
  "text",
  "bigint",
  "text",
  "bigint",
  "int",
  "text",
  "float8",
  "text",
  "bigint",
  "text",
  "bigint",
  "text",
  "float8",
  "float8",
  "text",
  "text",
  "boolean",
  "text",
  "bigint",
  "text",
  "text",
  "text",
  "text",
  "text",
  "int",
  "text",
  "text",
  "bigint",
  "text",
] as const;

export type Statements = ReturnType<typeof createStatements>;

export type Database = {
  readonly query: PostgresQuery["query"];
  readonly statements: Statements;
  /** The store's name in messages. */
  readonly storeName: string;
};

export type AppendOutcome = { readonly outcome: string; readonly tail: number | null; readonly message: string | null };

export function createStatements(schema: string) {
  const s = quoteIdentifier(schema);
  return {
    ...writeStatements(s),
    ...signalStatements(s),
    ...scheduleStatements(s),
    ...noticeStatements(s),
    ...readStatements(s),
    ...listStatements(s),
    ...queueStatements(s),
    ...changeStatements(s),
    ...verifyStatements(s),
  };
}

function writeStatements(s: string) {
  const columns = appendTypes.map((_, index) => `c${index + 1}`).join(", ");
  const arrays = appendTypes.map((type, index) => `$${index + 1}::${type}[]`).join(", ");
  const values = appendTypes.map((type, index) => `$${index + 1}::${type}`).join(", ");
  const columnCount = appendTypes.length;
  const redacted = ["bigint", "text", "bigint", "text", "bigint"]
    .map((type, index) => `$${columnCount + index + 1}::${type}[]`)
    .join(", ");
  return {
    claim: `SELECT outcome, new_epoch::float8 AS epoch, by_holder AS holder, left_ms AS "leftMs", seq::float8 AS seq, v, state,
      state_sum::float8 AS "stateSum" FROM ${s}.claim($1::text, $2::text, $3::float8, $4::float8, $5::text, $6::int)`,
    // Locked in the same order as groups of commits, so that neither waits for the other.
    renew: `WITH held AS (SELECT s.id FROM ${s}.sessions s
        JOIN unnest($1::text[], $2::bigint[], $3::text[]) AS l(name, epoch, holder) ON s.name = l.name
        WHERE s.epoch = l.epoch AND s.holder = l.holder ORDER BY s.name FOR NO KEY UPDATE OF s)
      UPDATE ${s}.sessions s SET lease_until = ${s}.now_ms() + $4::float8, lease_ms = $4 FROM held WHERE s.id = held.id
      RETURNING s.name`,
    release: `SELECT ${s}.release($1::text, $2::bigint, $3::text) AS released`,
    appendWaiting: `SELECT outcome, tail::float8 AS tail, message
      FROM ${s}.append_waiting(${values}, $${columnCount + 1}::text, $${columnCount + 2}::text)`,
    append: `SELECT outcome, tail::float8 AS tail, message FROM ${s}.append(${values})`,
    appendAll: `SELECT a.outcome, a.tail::float8 AS tail, a.message
      FROM unnest(${arrays}) WITH ORDINALITY AS c(${columns}, n), LATERAL ${s}.append(${columns}) a ORDER BY c.n`,
    // Whether a commit is in the log, and whether the lease of this epoch was released and the session has not been claimed since.
    fate: `SELECT EXISTS (SELECT 1 FROM ${s}.commits c WHERE c.session = s.id AND c.seq = $2::bigint AND c.epoch = $3::bigint
          AND c.events_sum = $4::bigint) AS appended,
        s.epoch = $3::bigint AND s.holder IS NULL AS released
      FROM ${s}.sessions s WHERE s.name = $1::text`,
    // Rows are deleted and inserted, because the store's role may not update them. The inserts depend on the deletes, and the deletes on
    // the outcome, so nothing happens before the lease is confirmed.
    redact: `WITH a AS MATERIALIZED (SELECT outcome, tail, message FROM ${s}.append(${values})),
        o AS (SELECT s.id FROM ${s}.sessions s, a WHERE s.name = $1::text AND a.outcome = 'ok'),
        r AS (SELECT * FROM unnest(${redacted}) AS r(seq, events, events_sum, state, state_sum)),
        gone AS (DELETE FROM ${s}.commits c USING o, r WHERE c.session = o.id AND c.seq = r.seq
          RETURNING c.session, c.seq, c.v, c.status, c.at, c.epoch),
        replaced AS (INSERT INTO ${s}.commits (session, seq, v, status, at, epoch, events, events_sum, state, state_sum)
          SELECT g.session, g.seq, g.v, g.status, g.at, g.epoch, r.events, r.events_sum, r.state, r.state_sum
          FROM gone g JOIN r ON r.seq = g.seq ORDER BY g.seq),
        blobs_gone AS (DELETE FROM ${s}.blobs b USING o WHERE b.session = o.id AND b.hash = ANY($${columnCount + 6}::text[]))
      SELECT outcome, tail::float8 AS tail, message FROM a`,
    post: `SELECT ${s}.post($1::text, $2::text, $3::float8, $4::text, $5::bigint, $6::boolean) AS posted`,
    putBlob: `SELECT ${s}.put_blob($1::text, $2::text, $3::bytea) AS kept`,
    blob: `SELECT b.bytes FROM ${s}.blobs b JOIN ${s}.sessions s ON s.id = b.session WHERE s.name = $1::text AND b.hash = $2::text`,
    remove: `SELECT ${s}.remove($1::text, $2::boolean) AS outcome`,
  } as const;
}

function signalStatements(s: string) {
  return {
    addSignal: `SELECT ${s}.add_signal($1::text, $2::text, $3::float8, $4::float8, $5::text, $6::bigint) AS added`,
    serveSignal: `SELECT outcome, detail FROM ${s}.serve_signal($1::text, $2::bigint, $3::bigint, $4::text, $5::text, $6::text)`,
    signalList: `SELECT body, body_sum::float8 AS "bodySum" FROM ${s}.signals WHERE kept_until > $1::float8
        AND (key, number) > ($2::text, coalesce((SELECT number FROM ${s}.signals WHERE key = $2 AND id = $3::text), -1))
      ORDER BY key, number LIMIT $4::bigint`,
    dropSignals: `WITH gone AS (DELETE FROM ${s}.signals WHERE number IN (SELECT number FROM ${s}.signals
        WHERE kept_until <= $1::float8 AND NOT pending ORDER BY kept_until LIMIT $2::bigint) RETURNING 1)
      SELECT count(*)::float8 AS count FROM gone`,
    waitsOf: `SELECT call AS "callKey", step, key, expires_at AS "expiresAt", given FROM ${s}.waits WHERE session = $1::bigint`,
  } as const;
}

function readStatements(s: string) {
  return {
    stateAt: `SELECT seq::float8 AS seq, v, state, state_sum::float8 AS "stateSum" FROM ${s}.state_at($1::text, $2::bigint)`,
    rowsAfter: `SELECT c.seq::float8 AS seq, c.v, c.events, c.events_sum::float8 AS "eventsSum" FROM ${s}.commits c
      JOIN ${s}.sessions s ON s.id = c.session WHERE s.name = $1::text AND c.seq > $2::bigint ORDER BY c.seq LIMIT $3::bigint`,
    redactable: `SELECT c.seq::float8 AS seq, c.v, c.events, c.events_sum::float8 AS "eventsSum", c.state,
        c.state_sum::float8 AS "stateSum" FROM ${s}.commits c
      JOIN ${s}.sessions s ON s.id = c.session WHERE s.name = $1::text AND c.seq > $2::bigint ORDER BY c.seq LIMIT $3::bigint`,
    blobOfAfter: `SELECT b.hash, b.bytes FROM ${s}.blobs b JOIN ${s}.sessions s ON s.id = b.session
      WHERE s.name = $1::text AND b.hash > $2::text ORDER BY b.hash LIMIT 1`,
    inbox: `SELECT body, body_sum::float8 AS "bodySum" FROM ${s}.inbox_of($1::text)`,
    messageIds: `SELECT m.id FROM ${s}.messages m JOIN ${s}.sessions s ON s.id = m.session
      WHERE s.name = $1::text AND m.id > $2::text ORDER BY m.id LIMIT $3::bigint`,
  } as const;
}

/** Lists of sessions, and a single session. */
function listStatements(s: string) {
  const last = `LEFT JOIN LATERAL (SELECT c.v, c.seq, c.status, c.at FROM ${s}.commits c WHERE c.session = s.id
    ORDER BY c.seq DESC LIMIT 1) t ON s.holder IS NOT NULL`;
  const present = `CASE WHEN s.holder IS NULL THEN s.v ELSE t.v END AS v,
    (CASE WHEN s.holder IS NULL THEN s.seq ELSE coalesce(t.seq, 0) END)::float8 AS seq,
    CASE WHEN s.holder IS NULL THEN s.status ELSE coalesce(t.status, 'idle') END AS status,
    CASE WHEN s.holder IS NULL THEN s.updated_at ELSE coalesce(t.at, s.created_at) END AS "updatedAt"`;
  const summary = `s.name, s.activity, s.holder, s.info, s.info_sum::float8 AS "infoSum", s.created_at AS "createdAt", ${present},
    (SELECT count(*)::float8 FROM ${s}.messages m WHERE m.session = s.id AND m.body IS NOT NULL) AS inbox`;
  // $1 status, $2 agent, $3 root, $4 parent, $5 whether to filter by parent, $6 time and $7 id of the last one, $8 limit, $9 a lower-case
  // text.
  const matchesFilter = (status: string, updatedAt: string) => `($1::text[] IS NULL OR ${status} = ANY($1::text[]))
    AND ($2::text IS NULL OR s.agent = $2) AND ($3::text IS NULL OR s.root = $3)
    AND (NOT $5::boolean OR s.parent IS NOT DISTINCT FROM $4::text)
    AND ($6::float8 IS NULL OR ${updatedAt} < $6 OR (${updatedAt} = $6 AND s.name > $7::text))
    AND ($9::text IS NULL OR position($9 in coalesce(s.search, lower(s.name || E'\\n' || coalesce(s.title, '')))) > 0)`;
  const list = (
    columns: string,
  ) => `WITH resting AS (SELECT s.id FROM ${s}.sessions s WHERE s.holder IS NULL AND ${matchesFilter("s.status", "s.updated_at")}
        ORDER BY s.updated_at DESC, s.name LIMIT $8::bigint),
      held AS (SELECT s.id FROM ${s}.sessions s ${last}
        WHERE s.holder IS NOT NULL AND ${matchesFilter("coalesce(t.status, 'idle')", "coalesce(t.at, s.created_at)")})
      SELECT ${columns} FROM (SELECT id FROM resting UNION ALL SELECT id FROM held) p JOIN ${s}.sessions s ON s.id = p.id ${last}
      ORDER BY "updatedAt" DESC, s.name LIMIT $8::bigint`;
  const lastSeq = "CASE WHEN s.holder IS NULL THEN s.seq ELSE coalesce(t.seq, 0) END";
  // A process of 0.1 writes no overview: `append` then stores null with the number of its commit.
  const isCurrent = `(s.overview IS NOT NULL AND s.overview_seq IS NOT DISTINCT FROM (${lastSeq}))`;
  const ofLastCommit = (column: string) =>
    `CASE WHEN NOT ${isCurrent} THEN (SELECT c.${column} FROM ${s}.commits c WHERE c.session = s.id AND c.seq = ${lastSeq}) END`;
  // The overview in the row if no commit came after it, otherwise the state from which it follows.
  const overview = `CASE WHEN ${isCurrent} THEN s.overview END AS overview, s.overview_sum::float8 AS "overviewSum",
    ${ofLastCommit("state")} AS state, (${ofLastCommit("state_sum")})::float8 AS "stateSum",
    EXISTS (SELECT 1 FROM ${s}.sessions c WHERE c.parent = s.name) AS "hasChildren"`;
  return {
    list: list(summary),
    listOverviews: list(`${summary}, ${overview}`),
    describe: `SELECT ${summary} FROM ${s}.sessions s ${last} WHERE s.name = $1::text`,
  } as const;
}

/** Sessions that wait for a person or for a driver. */
function queueStatements(s: string) {
  return {
    // Selects the page first, then its details. Otherwise the server may read the last commits of all waiting sessions.
    asking: `WITH page AS MATERIALIZED (SELECT id, name, asked_at FROM ${s}.sessions
        WHERE asked_at IS NOT NULL AND (asked_at, name) > ($1::float8, $2::text COLLATE "C") ORDER BY asked_at, name LIMIT $3::bigint)
      SELECT p.name, p.asked_at AS "askedAt", c.seq::float8 AS seq, c.v, c.state, c.state_sum::float8 AS "stateSum",
        (SELECT count(*)::float8 FROM ${s}.messages m WHERE m.session = p.id AND m.body IS NOT NULL) AS inbox
      FROM page p LEFT JOIN LATERAL (SELECT c.seq, c.v, c.state, c.state_sum FROM ${s}.commits c WHERE c.session = p.id
        ORDER BY c.seq DESC LIMIT 1) c ON true ORDER BY p.asked_at, p.name`,
    // Due times are compared with the caller's clock, which wrote them; leases with the server's. $2 are the holders that the caller knows
    // to be dead. Rows without a name list the current holders, so that the caller can check whether others are dead.
    due: `WITH RECURSIVE clock AS MATERIALIZED (SELECT ${s}.now_ms() AS t), wanting AS (
        SELECT id, due_at AS since FROM ${s}.sessions WHERE due_at <= $1::float8
        UNION ALL SELECT session, min(at) FROM ${s}.messages WHERE body IS NOT NULL GROUP BY session),
      h AS (
        (SELECT holder FROM ${s}.sessions WHERE holder IS NOT NULL ORDER BY holder LIMIT 1)
        UNION ALL
        SELECT (SELECT n.holder FROM ${s}.sessions n WHERE n.holder > h.holder ORDER BY n.holder LIMIT 1) FROM h WHERE h.holder IS NOT NULL)
      (SELECT s.name, NULL AS holder, w.since, s.id FROM (SELECT id, min(since) AS since FROM wanting GROUP BY id) w
        JOIN ${s}.sessions s ON s.id = w.id CROSS JOIN clock
        WHERE s.holder IS NULL OR NOT ${liveLeaseSql("s", "clock.t")} OR s.holder = ANY($2::text[])
        ORDER BY w.since, s.id LIMIT $3::bigint)
      UNION ALL SELECT NULL, holder, NULL, NULL FROM h WHERE holder IS NOT NULL ORDER BY since, id`,
  } as const;
}

/** Changes by other processes. */
function changeStatements(s: string) {
  return {
    notify: "SELECT pg_notify($1::text, $2::text)",
    horizon: `SELECT pg_snapshot_xmin(pg_current_snapshot())::text AS horizon`,
    // The rows of transactions from $1 on, and the number from which more may become visible. At least one row. Names are looked up one by
    // one, because for a join the server may read all sessions.
    changes: `SELECT h.horizon, r.part, (SELECT s.name FROM ${s}.sessions s WHERE s.id = r.session) AS name, r.key FROM (SELECT pg_snapshot_xmin(pg_current_snapshot())::text AS horizon) h
      LEFT JOIN (
        (SELECT 'log' AS part, session, seq::text AS key FROM ${s}.commits WHERE tx >= $1::text::xid8 ORDER BY tx LIMIT $2::bigint)
        UNION ALL
        (SELECT 'inbox', session, id FROM ${s}.messages WHERE tx >= $1::text::xid8 ORDER BY tx LIMIT $2::bigint)
      ) r ON true`,
  } as const;
}

/** Rows one by one, for checks for damage. */
function verifyStatements(s: string) {
  return {
    names: `SELECT s.id::text AS id, s.name, s.holder, s.activity, s.status, s.agent, s.parent, s.title, s.root, s.principal, s.info,
        s.info_sum::float8 AS "infoSum", s.asked_at AS "askedAt", s.v, s.seq::float8 AS seq, s.updated_at AS "updatedAt",
        s.overview, s.overview_seq::float8 AS "overviewSeq", s.overview_sum::float8 AS "overviewSum"
      FROM ${s}.sessions s WHERE s.id > $1::bigint AND ($2::text IS NULL OR s.name = $2) ORDER BY s.id LIMIT 1`,
    rowAfter: `SELECT seq::float8 AS seq, v, status, at, events, events_sum::float8 AS "eventsSum", state, state_sum::float8 AS "stateSum"
      FROM ${s}.commits WHERE session = $1::bigint AND seq > $2::bigint ORDER BY seq LIMIT 1`,
    hasBlob: `SELECT 1 FROM ${s}.blobs WHERE session = $1::bigint AND hash = $2::text`,
    blobAfter: `SELECT hash, bytes FROM ${s}.blobs WHERE session = $1::bigint AND hash > $2::text ORDER BY hash LIMIT 1`,
    strays: `SELECT count(*)::float8 AS count FROM (SELECT session FROM ${s}.commits UNION SELECT session FROM ${s}.messages
        UNION SELECT session FROM ${s}.blobs UNION SELECT session FROM ${s}.waits) o WHERE o.session NOT IN (SELECT id FROM ${s}.sessions)`,
  } as const;
}

/** The statements of notices. `append` writes the notices of a commit. */
function noticeStatements(s: string) {
  const columns = `number::float8 AS number, endpoint, id, session, at, due_at AS "dueAt", tries, body, body_sum::float8 AS "bodySum"`;
  return {
    /** Returns no row if nothing was written. */
    addDestination: `INSERT INTO ${s}.endpoints AS e (id, body, body_sum) VALUES ($1::text, $2::text, $3::bigint)
      ON CONFLICT (id) DO UPDATE SET body = excluded.body, body_sum = excluded.body_sum WHERE $4::boolean
      RETURNING e.xmax = 0 AS "isNew"`,
    dropDestination: `WITH gone AS (DELETE FROM ${s}.notices WHERE endpoint = $1::text)
      DELETE FROM ${s}.endpoints WHERE id = $1 RETURNING 1`,
    destinations: `SELECT id, body, body_sum::float8 AS "bodySum" FROM ${s}.endpoints ORDER BY id`,
    dueNotices: `SELECT ${columns} FROM ${s}.notices WHERE endpoint = $1::text AND due_at <= $2::float8
      ORDER BY due_at, number LIMIT $3::bigint`,
    dueNoticesForEach: `SELECT ${columns} FROM unnest($1::text[]) AS w(wanted) CROSS JOIN LATERAL (SELECT * FROM ${s}.notices
        WHERE endpoint = w.wanted AND due_at <= $2::float8 ORDER BY due_at, number LIMIT $3::bigint) n
      ORDER BY n.endpoint, n.due_at, n.number`,
    noticeList: `SELECT ${columns} FROM ${s}.notices WHERE (NOT $1::boolean OR due_at IS NULL) AND number > $2::bigint
      ORDER BY number LIMIT $3::bigint`,
    replaceNotice: `UPDATE ${s}.notices SET due_at = $4::float8, tries = $5::int, body = $6::text, body_sum = $7::bigint
      WHERE number = $1::bigint AND due_at IS NOT DISTINCT FROM $2::float8 AND tries = $3::int RETURNING 1`,
    dropNotice: `DELETE FROM ${s}.notices WHERE number = $1::bigint RETURNING 1`,
    dropOldNotices: `WITH gone AS (DELETE FROM ${s}.notices WHERE number IN (SELECT number FROM ${s}.notices
        WHERE at < $1::float8 AND (due_at IS NULL
          OR (due_at < $1 AND endpoint NOT IN (SELECT jsonb_array_elements_text($2::text::jsonb)))) ORDER BY number LIMIT 1000) RETURNING 1)
      SELECT count(*)::float8 AS count FROM gone`,
  } as const;
}

/**
 * The functions of a PostgreSQL store, which make all writes to sessions. See the rules in schema.ts.
 */
import { initialFormat } from "../../core/machine/state.js";
import { maxLeaseFactor } from "../shared/lease.js";
import { scheduleFunctions } from "./schedule-functions.js";
import { signalFunctions } from "./signal-functions.js";

/** SQL for whether the lease in this row is neither expired nor void. See `isLive` in the stores' shared rules. */
export function liveLeaseSql(row: string, now: string): string {
  return `(${row}.lease_until > ${now} AND ${row}.lease_until <= ${now} + ${maxLeaseFactor} * ${row}.lease_ms)`;
}

/** How long a statement waits for a lock before it fails. The store then retries it. */
const lockTimeout = "2s";

/**
 * The statements that create or replace the functions. `schema` is quoted.
 *
 * All but `now_ms` are in plpgsql, which caches the plans of its statements per connection. PostgreSQL plans an SQL function at each call:
 * one that only read the number of the last commit took half of a commit's time.
 */
export function buildFunctions(schema: string): readonly string[] {
  // Each function uses the store's own schema, whatever the caller's search path is. The lock timeout is set here, because a pooler may
  // reject it among the parameters of a connection.
  const clauses = `LANGUAGE plpgsql SET search_path = ${schema}, pg_temp SET lock_timeout = '${lockTimeout}' AS`;
  const functions = [
    ...buildHelpers(),
    ...buildLeaseFunctions(clauses),
    buildAppend(clauses),
    ...buildFirstReleaseFunctions(clauses),
    ...signalFunctions(clauses, { names: formatNames(appendParameters), parameters: appendParameters }),
    ...scheduleFunctions(clauses),
    ...buildOtherFunctions(clauses),
    ...buildReadFunctions(schema),
  ];
  return functions.map((sql) => sql.replace(/^CREATE FUNCTION/, "CREATE OR REPLACE FUNCTION"));
}

/** `lock_session` and `let_go` are called only by other functions, with the settings of those functions. */
function buildHelpers(): readonly string[] {
  return [
    `CREATE FUNCTION now_ms() RETURNS float8 LANGUAGE sql VOLATILE AS $$
      SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::float8 $$`,

    // Returns the session's row, locked. Creates it if it does not exist.
    `CREATE FUNCTION lock_session(p_name text, p_at float8) RETURNS sessions LANGUAGE plpgsql AS $$
    DECLARE s sessions;
    BEGIN
      LOOP
        SELECT * INTO s FROM sessions WHERE name = p_name FOR NO KEY UPDATE;
        IF FOUND THEN RETURN s; END IF;
        INSERT INTO sessions (name, created_at, updated_at) VALUES (p_name, p_at, p_at) ON CONFLICT (name) DO NOTHING;
      END LOOP;
    END $$`,
  ];
}

const claimParameters = "p_name text, p_holder text, p_now float8, p_lease_ms float8, p_dead text";
const claimResult = `OUT outcome text, OUT new_epoch bigint, OUT by_holder text, OUT left_ms float8, OUT seq bigint, OUT v int, OUT state text,
        OUT state_sum bigint`;

/** Turns `p_a text, p_b int` into `p_a, p_b`. */
function formatNames(parameters: string): string {
  return parameters
    .split(",")
    .map((parameter) => parameter.trim().split(" ")[0])
    .join(", ");
}

function buildLeaseFunctions(clauses: string): readonly string[] {
  return [
    // p_now is the caller's time, for the row of a new session. p_dead is a holder that the caller knows to be dead. left_ms is the
    // remaining time of the holder's lease. p_format is the newest format that the caller knows.
    `CREATE FUNCTION claim(${claimParameters}, p_format int, ${claimResult}) ${clauses} $$
    DECLARE s sessions; c commits; t float8;
    BEGIN
      -- Several workers find the same session at once, and one claims it. The others write nothing, not even a lock.
      SELECT * INTO s FROM sessions WHERE name = p_name;
      t := now_ms();
      IF FOUND AND s.holder IS NOT NULL AND s.holder IS DISTINCT FROM p_dead AND ${liveLeaseSql("s", "t")} THEN
        outcome := 'held'; by_holder := s.holder; left_ms := s.lease_until - t;
        RETURN;
      END IF;
      s := lock_session(p_name, p_now);
      t := now_ms();
      IF s.holder IS NOT NULL AND s.holder IS DISTINCT FROM p_dead AND ${liveLeaseSql("s", "t")} THEN
        outcome := 'held'; by_holder := s.holder; left_ms := s.lease_until - t;
        RETURN;
      END IF;
      SELECT * INTO c FROM commits WHERE session = s.id ORDER BY commits.seq DESC LIMIT 1;
      seq := coalesce(c.seq, 0); v := c.v; state := c.state; state_sum := c.state_sum;
      IF c.v > p_format THEN
        outcome := 'newer';
        RETURN;
      END IF;
      new_epoch := nextval('epochs');
      UPDATE sessions SET epoch = new_epoch, holder = p_holder, lease_until = t + p_lease_ms, lease_ms = p_lease_ms
        WHERE id = s.id;
      outcome := 'claimed';
    END $$`,

    `CREATE FUNCTION let_go(p_id bigint) RETURNS void LANGUAGE plpgsql AS $$
    BEGIN
      UPDATE sessions s SET holder = NULL, v = c.v, seq = coalesce(c.seq, 0), status = coalesce(c.status, 'idle'),
          updated_at = coalesce(c.at, s.created_at)
        FROM (SELECT 1) one LEFT JOIN LATERAL
          (SELECT commits.v, commits.seq, commits.status, commits.at FROM commits WHERE session = p_id ORDER BY commits.seq DESC LIMIT 1) c ON true
        WHERE s.id = p_id;
    END $$`,

    `CREATE FUNCTION release(p_name text, p_epoch bigint, p_holder text) RETURNS boolean ${clauses} $$
    DECLARE s sessions;
    BEGIN
      SELECT * INTO s FROM sessions WHERE name = p_name FOR NO KEY UPDATE;
      IF NOT FOUND OR s.epoch <> p_epoch OR s.holder IS DISTINCT FROM p_holder THEN RETURN false; END IF;
      PERFORM let_go(s.id);
      RETURN true;
    END $$`,
  ];
}

/** The changes of a commit to the session's own row, in one update, so that it creates only one new row version. */
const rowUpdateSql = `    IF p_count > 0 AND p_info_sum IS DISTINCT FROM s.info_sum THEN
      s.info := p_info; s.info_sum := p_info_sum; s.agent := p_agent; s.parent := p_parent; s.title := p_title; s.root := p_root;
      s.principal := p_principal; s.search := p_search;
      is_changed := true;
    END IF;
    IF p_activity <> s.activity OR p_due IS DISTINCT FROM s.due_at OR p_asked IS DISTINCT FROM s.asked_at THEN
      s.activity := p_activity; s.due_at := p_due; s.asked_at := p_asked;
      is_changed := true;
    END IF;
    IF p_release AND p_count > 0 THEN
      s.holder := NULL; s.v := p_v; s.seq := present + p_count; s.status := p_status; s.updated_at := p_at;
      s.overview := p_overview; s.overview_seq := s.seq; s.overview_sum := p_overview_sum;
      is_changed := true;
    END IF;
    IF is_changed THEN
      UPDATE sessions SET info = s.info, info_sum = s.info_sum, agent = s.agent, parent = s.parent, title = s.title, root = s.root,
          principal = s.principal, activity = s.activity, due_at = s.due_at, asked_at = s.asked_at, holder = s.holder, v = s.v,
          seq = s.seq, status = s.status, updated_at = s.updated_at, search = s.search, overview = s.overview,
          overview_seq = s.overview_seq, overview_sum = s.overview_sum
        WHERE id = s.id;
    END IF;
`;

const firstAppendParameters = `p_name text, p_epoch bigint, p_holder text, p_expected bigint, p_count int, p_status text, p_at float8,
      p_events text, p_events_sum bigint, p_state text, p_state_sum bigint, p_activity text, p_due float8, p_asked float8,
      p_consume text, p_record text, p_release boolean, p_info text, p_info_sum bigint, p_agent text, p_parent text, p_title text,
      p_root text, p_principal text`;
/**
 * `p_v` is the format of the state. The columns for lists are null in calls of processes that do not know them. `p_notices` is a list of `{
 * id, body, sum }`.
 */
const appendParameters = `${firstAppendParameters}, p_v int, p_search text, p_overview text, p_overview_sum bigint, p_notices text`;
const appendResult = "OUT outcome text, OUT tail bigint, OUT message text";

/** Nothing is written unless the outcome is 'ok'. Some outcomes have a number (the end of the log) or an id (of a message). */
function buildAppend(clauses: string): string {
  return `CREATE FUNCTION append(${appendParameters}, ${appendResult}) ${clauses} $$
  DECLARE s sessions; present bigint; taken text; is_changed boolean := false;
  BEGIN
    SELECT * INTO s FROM sessions WHERE name = p_name FOR NO KEY UPDATE;
    IF NOT FOUND OR s.epoch <> p_epoch OR s.holder IS DISTINCT FROM p_holder THEN
      outcome := 'fenced';
      RETURN;
    END IF;
    -- Not in the statement above: that would see the log as it was before it waited for the lock.
    present := coalesce((SELECT c.seq FROM commits c WHERE c.session = s.id ORDER BY c.seq DESC LIMIT 1), 0);
    IF present <> p_expected THEN
      outcome := 'conflict'; tail := present;
      RETURN;
    END IF;
    IF p_record <> '[]' THEN
      SELECT r.id INTO taken FROM jsonb_array_elements_text(p_record::jsonb) WITH ORDINALITY AS r(id, n)
        WHERE EXISTS (SELECT 1 FROM messages m WHERE m.session = s.id AND m.id = r.id)
          OR EXISTS (SELECT 1 FROM jsonb_array_elements_text(p_record::jsonb) WITH ORDINALITY AS b(id, n) WHERE b.n < r.n AND b.id = r.id)
        ORDER BY r.n LIMIT 1;
      IF taken IS NOT NULL THEN
        outcome := 'duplicate'; message := taken;
        RETURN;
      END IF;
    END IF;
    IF p_release AND EXISTS (SELECT 1 FROM messages m WHERE m.session = s.id AND m.body IS NOT NULL
        AND (p_consume = '[]' OR NOT (p_consume::jsonb ? m.id))) THEN
      outcome := 'inbox_not_empty';
      RETURN;
    END IF;
    IF p_count > 0 THEN
      INSERT INTO commits (session, seq, v, status, at, epoch, events, events_sum, state, state_sum)
        VALUES (s.id, present + p_count, p_v, p_status, p_at, p_epoch, p_events, p_events_sum, p_state, p_state_sum);
    END IF;
    IF p_consume <> '[]' THEN
      UPDATE messages SET body = NULL WHERE session = s.id AND id IN (SELECT jsonb_array_elements_text(p_consume::jsonb));
    END IF;
    IF p_record <> '[]' THEN
      INSERT INTO messages (session, id, at) SELECT s.id, r, p_at FROM jsonb_array_elements_text(p_record::jsonb) AS r;
    END IF;
    IF p_notices <> '[]' THEN
      -- Due at once, whatever the clocks of those who commit and of those who deliver.
      INSERT INTO notices (endpoint, id, session, at, due_at, body, body_sum)
        SELECT e.id, n->>'id', p_name, p_at, 0, n->>'body', (n->>'sum')::bigint
        FROM endpoints e, jsonb_array_elements(p_notices::jsonb) n ON CONFLICT DO NOTHING;
    END IF;
${rowUpdateSql}    IF p_release AND p_count = 0 THEN PERFORM let_go(s.id); END IF;
    outcome := 'ok'; tail := present + p_count;
  END $$`;
}

/**
 * The functions that processes of 0.1 call. They keep working while newer processes use the store, and know only sessions of the first
 * format.
 */
function buildFirstReleaseFunctions(clauses: string): readonly string[] {
  const calls = (name: string, parameters: string, more = "") =>
    `BEGIN SELECT * INTO ${name === "claim" ? "outcome, new_epoch, by_holder, left_ms, seq, v, state, state_sum" : "outcome, tail, message"}
      FROM ${name}(${formatNames(parameters)}, ${initialFormat}${more}); END`;
  return [
    `CREATE FUNCTION claim(${claimParameters}, ${claimResult}) ${clauses} $$ ${calls("claim", claimParameters)} $$`,
    `CREATE FUNCTION append(${firstAppendParameters}, ${appendResult}) ${clauses} $$ ${calls("append", firstAppendParameters, ", NULL, NULL, NULL, '[]'")} $$`,
  ];
}

function buildOtherFunctions(clauses: string): readonly string[] {
  return [
    // p_again: the reply to an earlier call was lost. A message that exists or was consumed since may be the one that was sent then.
    `CREATE FUNCTION post(p_name text, p_id text, p_at float8, p_body text, p_body_sum bigint, p_again boolean) RETURNS boolean ${clauses} $$
    DECLARE s sessions;
    BEGIN
      s := lock_session(p_name, p_at);
      INSERT INTO messages (session, id, at, body, body_sum) VALUES (s.id, p_id, p_at, p_body, p_body_sum)
        ON CONFLICT (session, id) DO NOTHING;
      RETURN FOUND OR (p_again AND EXISTS (SELECT 1 FROM messages m WHERE m.session = s.id AND m.id = p_id
        AND m.body_sum = p_body_sum));
    END $$`,

    `CREATE FUNCTION put_blob(p_name text, p_hash text, p_bytes bytea) RETURNS boolean ${clauses} $$
    DECLARE s bigint;
    BEGIN
      SELECT id INTO s FROM sessions WHERE name = p_name FOR KEY SHARE;
      IF NOT FOUND THEN RETURN false; END IF;
      INSERT INTO blobs (session, hash, bytes) VALUES (s, p_hash, p_bytes) ON CONFLICT DO NOTHING;
      RETURN true;
    END $$`,

    `CREATE FUNCTION remove(p_name text, p_force boolean) RETURNS text ${clauses} $$
    DECLARE s sessions;
    BEGIN
      SELECT * INTO s FROM sessions WHERE name = p_name FOR UPDATE;
      IF NOT FOUND THEN
        DELETE FROM schedules WHERE session = p_name;
        RETURN CASE WHEN FOUND THEN 'removed' ELSE 'absent' END;
      END IF;
      IF NOT p_force AND (s.activity <> 'resting' OR (s.holder IS NOT NULL AND ${liveLeaseSql("s", "now_ms()")})) THEN
        RETURN 'active';
      END IF;
      DELETE FROM commits WHERE session = s.id;
      DELETE FROM messages WHERE session = s.id;
      DELETE FROM blobs WHERE session = s.id;
      DELETE FROM waits WHERE session = s.id;
      DELETE FROM schedules WHERE session = s.name;
      DELETE FROM notices WHERE session = s.name;
      DELETE FROM sessions WHERE id = s.id;
      RETURN 'removed';
    END $$`,
  ];
}

/**
 * Reads that a driver makes before each run. As plain statements they were planned at each call, which took the server ten times as long as
 * running them. They qualify their tables, because setting a search path costs as much as the read.
 */
function buildReadFunctions(s: string): readonly string[] {
  const clauses = "LANGUAGE plpgsql STABLE AS";
  return [
    `CREATE FUNCTION state_at(p_name text, p_seq bigint, OUT seq bigint, OUT v int, OUT state text, OUT state_sum bigint)
      RETURNS SETOF record ROWS 1 ${clauses} $$
    BEGIN
      RETURN QUERY SELECT c.seq, c.v, c.state, c.state_sum FROM ${s}.commits c
        WHERE c.session = (SELECT id FROM ${s}.sessions WHERE name = p_name) AND c.seq <= p_seq ORDER BY c.seq DESC LIMIT 1;
    END $$`,

    `CREATE FUNCTION inbox_of(p_name text, OUT body text, OUT body_sum bigint) RETURNS SETOF record ROWS 1 ${clauses} $$
    BEGIN
      RETURN QUERY SELECT m.body, m.body_sum FROM ${s}.messages m
        WHERE m.session = (SELECT id FROM ${s}.sessions WHERE name = p_name) AND m.body IS NOT NULL ORDER BY m.number;
    END $$`,
  ];
}

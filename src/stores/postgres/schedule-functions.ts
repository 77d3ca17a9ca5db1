/**
 * The functions and statements of schedules in PostgreSQL.
 *
 * Firing a slot compares the row with what the caller saw. The server's clock must have reached the slot, so that a client whose clock is
 * ahead does not fire early.
 */
import { maxDelayedOfSession, maxSchedules, maxSlotRows } from "../../ports/schedule-store.js";

/** How far a client's clock may be ahead of the server's clock, in milliseconds. */
const maxAheadMs = 1_000;

export function scheduleFunctions(clauses: string): readonly string[] {
  return [
    // Counting has its own lock: two processes that add the last schedule at the same time would not see each other's.
    `CREATE FUNCTION put_schedule(p_id text, p_rev bigint, p_slot float8, p_due float8, p_session text, p_body text, p_body_sum bigint,
        p_has_seen boolean, p_seen float8, OUT outcome text, OUT present bigint) ${clauses} $$
    DECLARE present_slot float8;
    BEGIN
      PERFORM pg_advisory_xact_lock(hashtextextended('pawl schedules ' || current_schema() || ' ' || coalesce(p_session, ''), 2));
      SELECT rev, slot INTO present, present_slot FROM schedules WHERE id = p_id FOR UPDATE;
      present := coalesce(present, 0);
      IF p_rev <> present + 1 OR (present > 0 AND p_has_seen AND present_slot IS DISTINCT FROM p_seen) THEN
        outcome := 'conflict';
        RETURN;
      END IF;
      IF present = 0 AND (SELECT count(*) FROM schedules WHERE session IS NOT DISTINCT FROM p_session) >=
          (CASE WHEN p_session IS NULL THEN ${maxSchedules} ELSE ${maxDelayedOfSession} END) THEN
        outcome := 'full';
        RETURN;
      END IF;
      INSERT INTO schedules (id, rev, slot, due_at, session, body, body_sum)
        VALUES (p_id, p_rev, p_slot, p_due, p_session, p_body, p_body_sum)
        ON CONFLICT (id) DO UPDATE SET rev = excluded.rev, slot = excluded.slot, due_at = excluded.due_at, session = excluded.session,
          body = excluded.body, body_sum = excluded.body_sum;
      outcome := 'ok';
    END $$`,

    // Sessions are locked by name, as everywhere.
    `CREATE FUNCTION fire(p_id text, p_rev bigint, p_slot float8, p_next float8, p_due float8, p_last text, p_remove boolean,
        p_slots text[], p_names text[], p_ids text[], p_ats float8[], p_bodies text[], p_sums bigint[]) RETURNS boolean ${clauses} $$
    DECLARE s sessions; n int;
    BEGIN
      UPDATE schedules SET slot = p_next, due_at = p_due, last = coalesce(p_last, last)
        WHERE id = p_id AND rev = p_rev AND slot IS NOT DISTINCT FROM p_slot
          AND (p_slot IS NULL OR p_slot <= now_ms() + ${maxAheadMs} OR p_next IS NOT DISTINCT FROM p_slot);
      IF NOT FOUND THEN RETURN false; END IF;
      IF p_remove THEN DELETE FROM schedules WHERE id = p_id; END IF;
      IF NOT p_remove AND cardinality(p_slots) > 0 THEN
        INSERT INTO slots (schedule, body) SELECT p_id, b FROM unnest(p_slots) WITH ORDINALITY AS o(b, k) ORDER BY k;
        DELETE FROM slots WHERE schedule = p_id AND number <=
          (SELECT number FROM slots WHERE schedule = p_id ORDER BY number DESC LIMIT 1 OFFSET ${maxSlotRows});
      END IF;
      FOR n IN SELECT i FROM generate_subscripts(p_names, 1) i ORDER BY p_names[i], i LOOP
        s := lock_session(p_names[n], p_ats[n]);
        INSERT INTO messages (session, id, at, body, body_sum) VALUES (s.id, p_ids[n], p_ats[n], p_bodies[n], p_sums[n])
          ON CONFLICT (session, id) DO NOTHING;
      END LOOP;
      RETURN true;
    END $$`,
  ];
}

/** @param s the quoted schema */
export function scheduleStatements(s: string) {
  const columns = `id, rev::float8 AS rev, slot, due_at AS "dueAt", session, last, body, body_sum::float8 AS "bodySum"`;
  const fire = `${s}.fire($1::text, $2::bigint, $3::float8, $4::float8, $5::float8, $6::text, $7::boolean, $8::text[], $9::text[],
      $10::text[], $11::float8[], $12::text[], $13::bigint[])`;
  return {
    putSchedule: `SELECT outcome, present::float8 AS present FROM ${s}.put_schedule($1::text, $2::bigint, $3::float8, $4::float8, $5::text,
      $6::text, $7::bigint, $8::boolean, $9::float8)`,
    schedule: `SELECT ${columns} FROM ${s}.schedules WHERE id = $1::text`,
    scheduleList: `SELECT ${columns} FROM ${s}.schedules WHERE session IS NOT DISTINCT FROM $1::text AND id > $2::text
      ORDER BY id LIMIT $3::bigint`,
    delayedList: `SELECT ${columns} FROM ${s}.schedules WHERE session IS NOT NULL AND id > $1::text ORDER BY id LIMIT $2::bigint`,
    dueSchedules: `SELECT ${columns} FROM ${s}.schedules WHERE due_at <= $1::float8 ORDER BY due_at, id LIMIT $2::bigint`,
    nextDueSchedule: `SELECT due_at AS "dueAt" FROM ${s}.schedules WHERE due_at > $1::float8 ORDER BY due_at LIMIT 1`,
    dropSchedule: `WITH gone AS (DELETE FROM ${s}.slots WHERE schedule = $1::text)
      DELETE FROM ${s}.schedules WHERE id = $1 RETURNING 1`,
    fire: `SELECT ${fire} AS fired`,
    latestSlot: `SELECT ${s}.now_ms() + ${maxAheadMs} AS latest`,
    /** The last parameter is a list of `{ id, at, body, sum }`. */
    fireWithNotices: `WITH f AS MATERIALIZED (SELECT ${fire} AS fired),
      n AS (INSERT INTO ${s}.notices (endpoint, id, at, due_at, body, body_sum)
        SELECT e.id, n->>'id', (n->>'at')::float8, 0, n->>'body', (n->>'sum')::bigint
        FROM f, ${s}.endpoints e, jsonb_array_elements($14::text::jsonb) n WHERE f.fired ON CONFLICT DO NOTHING)
      SELECT fired FROM f`,
    slots: `SELECT body FROM ${s}.slots WHERE schedule = $1::text ORDER BY number DESC LIMIT $2::bigint`,
  } as const;
}

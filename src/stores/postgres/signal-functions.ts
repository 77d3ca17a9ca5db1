/**
 * The functions that pass signals to waits.
 *
 * 1. Each transaction that writes a wait or a signal holds the advisory lock of its key. A wait and a signal that arrive at the same time
 *    can therefore not miss each other: under READ COMMITTED, neither would see the other's row.
 * 2. Locks are taken in one order: the keys by their hashes, then the sessions by name. Transactions can therefore not deadlock.
 * 3. The client creates the messages with their checksums. A function that needs messages that the caller has not sent writes nothing, and
 *    reports which ones it `needs`. The caller creates them and calls again.
 */
import { signalPrefix } from "../../core/machine/signal-waits.js";
import { maxSignalsOfKey } from "../../ports/signal.js";
import { waitsOfPage } from "../shared/signals.js";

/** @param append the parameter names of `append`, and its parameters with their types */
export function signalFunctions(
  clauses: string,
  append: { readonly names: string; readonly parameters: string },
): readonly string[] {
  return [...keys, ...giving, appendWaiting(clauses, append), addSignal(clauses), serveSignal(clauses)];
}

const keys: readonly string[] = [
  `CREATE FUNCTION lock_keys(p_keys text[]) RETURNS void LANGUAGE plpgsql AS $$
    DECLARE k bigint;
    BEGIN
      FOR k IN SELECT DISTINCT hashtextextended('pawl signal ' || current_schema() || ' ' || key, 1) AS n FROM unnest(p_keys) AS key
          ORDER BY n LOOP
        PERFORM pg_advisory_xact_lock(k);
      END LOOP;
    END $$`,
];

const giving: readonly string[] = [
  // See `hadPrefix` in the stores' shared signals.
  `CREATE FUNCTION had_prefix(p_key text, p_id text, p_call text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
      SELECT '${signalPrefix}' || left(encode(sha256(convert_to(p_key || E'\\n' || p_id || E'\\n' || p_call, 'UTF8')), 'hex'), 32) || '/' $$`,

  // p_back: the messages that are about to be taken back.
  `CREATE FUNCTION has_had(p_session bigint, p_key text, p_id text, p_call text, p_back text[]) RETURNS boolean LANGUAGE plpgsql AS $$
    DECLARE prefix text := had_prefix(p_key, p_id, p_call);
    BEGIN
      RETURN EXISTS (SELECT 1 FROM messages m WHERE m.session = p_session AND m.id >= prefix AND m.id < rtrim(prefix, '/') || '0'
        AND m.id <> ALL (p_back));
    END $$`,

  // The oldest kept signal for a wait that its call has not had. p_chosen: CALL NUMBER of the signals that the same commit gives to other waits.
  `CREATE FUNCTION find_kept(p_session bigint, p_key text, p_call text, p_expires float8, p_at float8, p_back text[], p_chosen text[])
      RETURNS SETOF signals ROWS 1
      LANGUAGE plpgsql AS $$
    BEGIN
      RETURN QUERY SELECT g.* FROM signals g WHERE g.key = p_key AND g.kept_until > p_at AND (p_expires IS NULL OR g.at < p_expires)
        AND p_call || ' ' || g.number <> ALL (p_chosen) AND NOT has_had(p_session, g.key, g.id, p_call, p_back) ORDER BY g.number LIMIT 1;
    END $$`,

  // p_gift: { signal, session, call, step, id, at, body, sum }, as created by the client.
  `CREATE FUNCTION give(p_gift jsonb) RETURNS void LANGUAGE plpgsql AS $$
    BEGIN
      INSERT INTO messages (session, id, at, body, body_sum) VALUES ((p_gift->>'session')::bigint, p_gift->>'id', (p_gift->>'at')::float8,
        p_gift->>'body', (p_gift->>'sum')::bigint);
      UPDATE waits SET given = p_gift->>'id' WHERE session = (p_gift->>'session')::bigint AND call = p_gift->>'call'
        AND step = p_gift->>'step';
    END $$`,

  `CREATE FUNCTION gift_key(p_signal text, p_session text, p_call text, p_step text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
      SELECT p_signal || ' ' || p_session || ' ' || length(p_call)::text || ' ' || p_call || ' ' || p_step $$`,

  // The gifts by key. A page has a thousand of them, so a linear search per gift would be too slow.
  `CREATE FUNCTION index_gifts(p_gifts jsonb) RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$
      SELECT coalesce(jsonb_object_agg(gift_key(x->>'signal', x->>'session', x->>'call', x->>'step'), x), '{}')
        FROM jsonb_array_elements(p_gifts) x $$`,
];

/** A commit that changes its session's waits. It works like `append`, and its outcome may also be `needs`. */
function appendWaiting(
  clauses: string,
  { names, parameters }: { readonly names: string; readonly parameters: string },
): string {
  return `CREATE FUNCTION append_waiting(${parameters}, p_waits text, p_gifts text,
      OUT outcome text, OUT tail bigint, OUT message text) ${clauses} $$
  DECLARE sid bigint; w record; g signals; gift jsonb; gifts jsonb := '[]'; missing jsonb := '[]';
    wanted jsonb := p_waits::jsonb; given jsonb := index_gifts(p_gifts::jsonb); back text[]; chosen text[] := '{}';
  BEGIN
    SELECT id INTO sid FROM sessions WHERE name = p_name;
    PERFORM lock_keys(ARRAY(SELECT x->>'key' FROM jsonb_array_elements(wanted) x UNION SELECT key FROM waits WHERE session = sid));
    -- A wait was over before its signal was read: the next wait of the call gets it.
    back := ARRAY(SELECT m.id FROM waits o JOIN messages m ON m.session = sid AND m.id = o.given AND m.body IS NOT NULL
      WHERE o.session = sid AND NOT p_consume::jsonb ? m.id
        AND NOT EXISTS (SELECT 1 FROM jsonb_array_elements(wanted) x WHERE x->>'callKey' = o.call AND x->>'step' = o.step));
    FOR w IN SELECT x->>'key' AS key, x->>'callKey' AS call, x->>'step' AS step, (x->>'expiresAt')::float8 AS expires
        FROM jsonb_array_elements(wanted) WITH ORDINALITY AS e(x, n)
        WHERE NOT x ? 'given'
          AND NOT EXISTS (SELECT 1 FROM waits o WHERE o.session = sid AND o.call = x->>'callKey' AND o.step = x->>'step')
        ORDER BY n LOOP
      SELECT * INTO g FROM find_kept(sid, w.key, w.call, w.expires, p_at, back, chosen);
      CONTINUE WHEN NOT FOUND;
      chosen := chosen || (w.call || ' ' || g.number);
      IF p_release THEN
        outcome := 'inbox_not_empty';
        RETURN;
      END IF;
      gift := given->gift_key(g.number::text, sid::text, w.call, w.step);
      IF gift IS NULL THEN
        missing := missing || jsonb_build_object('signal', g.number::text, 'session', sid::text, 'call', w.call, 'step', w.step,
          'body', g.body, 'sum', g.body_sum);
      ELSE
        gifts := gifts || gift;
      END IF;
    END LOOP;
    IF jsonb_array_length(missing) > 0 THEN
      outcome := 'needs'; message := missing::text;
      RETURN;
    END IF;
    SELECT a.outcome, a.tail, a.message INTO outcome, tail, message FROM append(${names}) a;
    IF outcome <> 'ok' THEN RETURN; END IF;
    DELETE FROM messages m WHERE m.session = sid AND m.id = ANY (back);
    DELETE FROM waits o WHERE o.session = sid
      AND NOT EXISTS (SELECT 1 FROM jsonb_array_elements(wanted) x WHERE x->>'callKey' = o.call AND x->>'step' = o.step);
    INSERT INTO waits (session, call, step, key, expires_at, given)
      SELECT sid, x->>'callKey', x->>'step', x->>'key', (x->>'expiresAt')::float8, x->>'given' FROM jsonb_array_elements(wanted) x ON CONFLICT DO NOTHING;
    FOR gift IN SELECT x FROM jsonb_array_elements(gifts) x LOOP
      PERFORM give(gift);
    END LOOP;
  END $$`;
}

/** Adds a signal. `pending`: it was already in the store, and has not reached all waits yet. */
function addSignal(clauses: string): string {
  return `CREATE FUNCTION add_signal(p_key text, p_id text, p_at float8, p_until float8, p_body text, p_body_sum bigint) RETURNS text ${clauses} $$
  DECLARE known signals;
  BEGIN
    PERFORM lock_keys(ARRAY[p_key]);
    SELECT * INTO known FROM signals WHERE key = p_key AND id = p_id;
    IF FOUND THEN
      IF known.pending THEN RETURN 'pending'; END IF;
      IF known.kept_until > p_at THEN RETURN 'known'; END IF;
      DELETE FROM signals WHERE number = known.number;
    END IF;
    IF (SELECT count(*) FROM (SELECT 1 FROM signals WHERE key = p_key AND kept_until > p_at LIMIT ${maxSignalsOfKey}) k) = ${maxSignalsOfKey} THEN
      RETURN 'full';
    END IF;
    INSERT INTO signals (key, id, at, kept_until, body, body_sum) VALUES (p_key, p_id, p_at, p_until, p_body, p_body_sum);
    RETURN 'new';
  END $$`;
}

/**
 * Delivers the oldest pending signal of a key to a page of the waits that are open for it. Outcomes: `none`, `needs` (with the signal and
 * the waits), `served` (with the sessions that received it, and where the next page begins, if there is one).
 */
function serveSignal(clauses: string): string {
  return `CREATE FUNCTION serve_signal(p_key text, p_signal bigint, p_session bigint, p_call text, p_step text, p_gifts text,
      OUT outcome text, OUT detail text) ${clauses} $$
  DECLARE g signals; one record; gift jsonb; given jsonb := index_gifts(p_gifts::jsonb);
    -- Arrays grow in place. To add to a JSON list copies it.
    gifts jsonb[] := '{}'; missing jsonb[] := '{}'; names jsonb[] := '{}';
    page jsonb; last jsonb; is_same boolean;
  BEGIN
    PERFORM lock_keys(ARRAY[p_key]);
    SELECT * INTO g FROM signals WHERE key = p_key AND pending ORDER BY number LIMIT 1;
    IF NOT FOUND THEN
      outcome := 'none';
      RETURN;
    END IF;
    is_same := p_signal IS NOT NULL AND p_signal = g.number;
    SELECT coalesce(jsonb_agg(jsonb_build_object('session', o.session::text, 'name', o.name, 'call', o.call, 'step', o.step)
        ORDER BY o.session, o.call, o.step), '[]') INTO page FROM (
      SELECT w.session, s.name, w.call, w.step FROM waits w JOIN sessions s ON s.id = w.session
        WHERE w.key = p_key AND w.given IS NULL AND (w.expires_at IS NULL OR w.expires_at > g.at)
          AND (NOT is_same OR (w.session, w.call, w.step) > (p_session, p_call, p_step))
        ORDER BY w.session, w.call, w.step LIMIT ${waitsOfPage}) o;
    FOR one IN SELECT (x->>'session')::bigint AS session, x->>'name' AS name, x->>'call' AS call, x->>'step' AS step
        FROM jsonb_array_elements(page) WITH ORDINALITY AS p(x, n) ORDER BY n LOOP
      -- Two waits of one call get two signals, and a page may be served again.
      CONTINUE WHEN has_had(one.session, g.key, g.id, one.call, '{}') OR last->>'session' = one.session::text AND last->>'call' = one.call;
      last := jsonb_build_object('session', one.session::text, 'call', one.call);
      gift := given->gift_key(g.number::text, one.session::text, one.call, one.step);
      IF gift IS NULL THEN
        missing := array_append(missing, jsonb_build_object('session', one.session::text, 'call', one.call, 'step', one.step));
      ELSE
        gifts := array_append(gifts, gift);
        names := array_append(names, jsonb_build_object('sessionId', one.name, 'id', gift->>'id'));
      END IF;
    END LOOP;
    IF cardinality(missing) > 0 THEN
      outcome := 'needs';
      detail := jsonb_build_object('signal', g.number::text, 'body', g.body, 'sum', g.body_sum, 'waits', to_jsonb(missing))::text;
      RETURN;
    END IF;
    PERFORM 1 FROM sessions WHERE id IN (SELECT (x->>'session')::bigint FROM unnest(gifts) x) ORDER BY name FOR NO KEY UPDATE;
    FOR gift IN SELECT x FROM unnest(gifts) x
        WHERE EXISTS (SELECT 1 FROM sessions s WHERE s.id = (x->>'session')::bigint) LOOP
      PERFORM give(gift);
    END LOOP;
    last := CASE WHEN jsonb_array_length(page) = ${waitsOfPage} THEN page->-1 ELSE NULL END;
    IF last IS NULL THEN UPDATE signals SET pending = false WHERE number = g.number; END IF;
    outcome := 'served';
    detail := jsonb_build_object('id', g.id, 'given', to_jsonb(names), 'after', CASE WHEN last IS NULL THEN NULL
      ELSE last || jsonb_build_object('signal', g.number::text) END)::text;
  END $$`;
}

-- What a PostgreSQL database of version 1 of the tables holds: one session, whose run waits for an approval. Written with pg_dump.
SET check_function_bodies = false;
CREATE SCHEMA pawl;
CREATE FUNCTION pawl.append(p_name text, p_epoch bigint, p_holder text, p_expected bigint, p_count integer, p_status text, p_at double precision, p_events text, p_events_sum bigint, p_state text, p_state_sum bigint, p_activity text, p_due double precision, p_asked double precision, p_consume text, p_record text, p_release boolean, p_info text, p_info_sum bigint, p_agent text, p_parent text, p_title text, p_root text, p_principal text, OUT outcome text, OUT tail bigint, OUT message text) RETURNS record
    LANGUAGE plpgsql
    SET search_path TO 'pawl', 'pg_temp'
    SET lock_timeout TO '2s'
    AS $$
  DECLARE s sessions; present bigint; taken text;
  BEGIN
    SELECT * INTO s FROM sessions WHERE name = p_name FOR NO KEY UPDATE;
    IF NOT FOUND OR s.epoch <> p_epoch OR s.holder IS DISTINCT FROM p_holder THEN
      outcome := 'fenced';
      RETURN;
    END IF;
    present := tail_of(s.id);
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
        VALUES (s.id, present + p_count, 2, p_status, p_at, p_epoch, p_events, p_events_sum, p_state, p_state_sum);
    END IF;
    IF p_consume <> '[]' THEN
      UPDATE messages SET body = NULL WHERE session = s.id AND id IN (SELECT jsonb_array_elements_text(p_consume::jsonb));
    END IF;
    IF p_record <> '[]' THEN
      INSERT INTO messages (session, id, at) SELECT s.id, r, p_at FROM jsonb_array_elements_text(p_record::jsonb) AS r;
    END IF;
    IF p_count > 0 AND p_info_sum IS DISTINCT FROM s.info_sum THEN
      UPDATE sessions SET info = p_info, info_sum = p_info_sum, agent = p_agent, parent = p_parent, title = p_title, root = p_root,
          principal = p_principal WHERE id = s.id;
    END IF;
    IF p_activity <> s.activity OR p_due IS DISTINCT FROM s.due_at OR p_asked IS DISTINCT FROM s.asked_at THEN
      UPDATE sessions SET activity = p_activity, due_at = p_due, asked_at = p_asked WHERE id = s.id;
    END IF;
    IF p_release THEN PERFORM let_go(s.id); END IF;
    outcome := 'ok'; tail := present + p_count;
  END $$;
CREATE FUNCTION pawl.claim(p_name text, p_holder text, p_now double precision, p_lease_ms double precision, p_dead text, OUT outcome text, OUT new_epoch bigint, OUT by_holder text, OUT left_ms double precision, OUT seq bigint, OUT v integer, OUT state text, OUT state_sum bigint) RETURNS record
    LANGUAGE plpgsql
    SET search_path TO 'pawl', 'pg_temp'
    SET lock_timeout TO '2s'
    AS $$
    DECLARE s sessions; c commits; t float8;
    BEGIN
      s := lock_session(p_name, p_now);
      t := now_ms();
      IF s.holder IS NOT NULL AND s.holder IS DISTINCT FROM p_dead AND (s.lease_until > t AND s.lease_until <= t + 2 * s.lease_ms) THEN
        outcome := 'held'; by_holder := s.holder; left_ms := s.lease_until - t;
        RETURN;
      END IF;
      SELECT * INTO c FROM commits WHERE session = s.id ORDER BY commits.seq DESC LIMIT 1;
      seq := coalesce(c.seq, 0); v := c.v; state := c.state; state_sum := c.state_sum;
      IF c.v > 2 THEN
        outcome := 'newer';
        RETURN;
      END IF;
      new_epoch := nextval('epochs');
      UPDATE sessions SET epoch = new_epoch, holder = p_holder, lease_until = t + p_lease_ms, lease_ms = p_lease_ms
        WHERE id = s.id;
      outcome := 'claimed';
    END $$;
CREATE FUNCTION pawl.let_go(p_id bigint) RETURNS void
    LANGUAGE sql
    SET search_path TO 'pawl', 'pg_temp'
    AS $$
      UPDATE sessions s SET holder = NULL, v = c.v, seq = coalesce(c.seq, 0), status = coalesce(c.status, 'idle'),
          updated_at = coalesce(c.at, s.created_at)
        FROM (SELECT 1) one LEFT JOIN LATERAL
          (SELECT commits.v, commits.seq, commits.status, commits.at FROM commits WHERE session = p_id ORDER BY commits.seq DESC LIMIT 1) c ON true
        WHERE s.id = p_id $$;
CREATE TABLE pawl.sessions (
    id bigint NOT NULL,
    name text NOT NULL COLLATE pg_catalog."C",
    created_at double precision NOT NULL,
    epoch bigint DEFAULT 0 NOT NULL,
    holder text COLLATE pg_catalog."C",
    lease_until double precision DEFAULT 0 NOT NULL,
    lease_ms double precision DEFAULT 0 NOT NULL,
    activity text DEFAULT 'resting'::text NOT NULL,
    due_at double precision,
    asked_at double precision,
    agent text COLLATE pg_catalog."C",
    parent text COLLATE pg_catalog."C",
    title text,
    root text COLLATE pg_catalog."C",
    principal text COLLATE pg_catalog."C",
    info text,
    info_sum bigint,
    v integer,
    seq bigint DEFAULT 0 NOT NULL,
    status text DEFAULT 'idle'::text NOT NULL,
    updated_at double precision NOT NULL
)
WITH (fillfactor='70');
CREATE FUNCTION pawl.lock_session(p_name text, p_at double precision) RETURNS pawl.sessions
    LANGUAGE plpgsql
    SET search_path TO 'pawl', 'pg_temp'
    SET lock_timeout TO '2s'
    AS $$
    DECLARE s sessions;
    BEGIN
      LOOP
        SELECT * INTO s FROM sessions WHERE name = p_name FOR NO KEY UPDATE;
        IF FOUND THEN RETURN s; END IF;
        INSERT INTO sessions (name, created_at, updated_at) VALUES (p_name, p_at, p_at) ON CONFLICT (name) DO NOTHING;
      END LOOP;
    END $$;
CREATE FUNCTION pawl.now_ms() RETURNS double precision
    LANGUAGE sql
    AS $$
      SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::float8 $$;
CREATE FUNCTION pawl.post(p_name text, p_id text, p_at double precision, p_body text, p_body_sum bigint, p_again boolean) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path TO 'pawl', 'pg_temp'
    SET lock_timeout TO '2s'
    AS $$
    DECLARE s sessions;
    BEGIN
      s := lock_session(p_name, p_at);
      INSERT INTO messages (session, id, at, body, body_sum) VALUES (s.id, p_id, p_at, p_body, p_body_sum)
        ON CONFLICT (session, id) DO NOTHING;
      RETURN FOUND OR (p_again AND EXISTS (SELECT 1 FROM messages m WHERE m.session = s.id AND m.id = p_id
        AND m.body_sum = p_body_sum));
    END $$;
CREATE FUNCTION pawl.put_blob(p_name text, p_hash text, p_bytes bytea) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path TO 'pawl', 'pg_temp'
    SET lock_timeout TO '2s'
    AS $$
    DECLARE s bigint;
    BEGIN
      SELECT id INTO s FROM sessions WHERE name = p_name FOR KEY SHARE;
      IF NOT FOUND THEN RETURN false; END IF;
      INSERT INTO blobs (session, hash, bytes) VALUES (s, p_hash, p_bytes) ON CONFLICT DO NOTHING;
      RETURN true;
    END $$;
CREATE FUNCTION pawl.release(p_name text, p_epoch bigint, p_holder text) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path TO 'pawl', 'pg_temp'
    SET lock_timeout TO '2s'
    AS $$
    DECLARE s sessions;
    BEGIN
      SELECT * INTO s FROM sessions WHERE name = p_name FOR NO KEY UPDATE;
      IF NOT FOUND OR s.epoch <> p_epoch OR s.holder IS DISTINCT FROM p_holder THEN RETURN false; END IF;
      PERFORM let_go(s.id);
      RETURN true;
    END $$;
CREATE FUNCTION pawl.remove(p_name text, p_force boolean) RETURNS text
    LANGUAGE plpgsql
    SET search_path TO 'pawl', 'pg_temp'
    SET lock_timeout TO '2s'
    AS $$
    DECLARE s sessions;
    BEGIN
      SELECT * INTO s FROM sessions WHERE name = p_name FOR UPDATE;
      IF NOT FOUND THEN RETURN 'absent'; END IF;
      IF NOT p_force AND (s.activity <> 'resting' OR (s.holder IS NOT NULL AND (s.lease_until > now_ms() AND s.lease_until <= now_ms() + 2 * s.lease_ms))) THEN
        RETURN 'active';
      END IF;
      DELETE FROM commits WHERE session = s.id;
      DELETE FROM messages WHERE session = s.id;
      DELETE FROM blobs WHERE session = s.id;
      DELETE FROM sessions WHERE id = s.id;
      RETURN 'removed';
    END $$;
CREATE FUNCTION pawl.tail_of(p_session bigint) RETURNS bigint
    LANGUAGE sql STABLE
    SET search_path TO 'pawl', 'pg_temp'
    AS $$
      SELECT coalesce((SELECT seq FROM commits WHERE session = p_session ORDER BY seq DESC LIMIT 1), 0) $$;
CREATE TABLE pawl.blobs (
    session bigint NOT NULL,
    hash text NOT NULL COLLATE pg_catalog."C",
    bytes bytea NOT NULL
);
CREATE TABLE pawl.commits (
    number bigint NOT NULL,
    session bigint NOT NULL,
    seq bigint NOT NULL,
    v integer NOT NULL,
    status text NOT NULL,
    at double precision NOT NULL,
    epoch bigint NOT NULL,
    events text NOT NULL,
    events_sum bigint NOT NULL,
    state text NOT NULL,
    state_sum bigint NOT NULL,
    tx xid8 DEFAULT pg_current_xact_id() NOT NULL
);
ALTER TABLE pawl.commits ALTER COLUMN number ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME pawl.commits_number_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE SEQUENCE pawl.epochs
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
CREATE TABLE pawl.messages (
    number bigint NOT NULL,
    session bigint NOT NULL,
    id text NOT NULL COLLATE pg_catalog."C",
    at double precision NOT NULL,
    body text,
    body_sum bigint,
    tx xid8 DEFAULT pg_current_xact_id() NOT NULL
);
ALTER TABLE pawl.messages ALTER COLUMN number ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME pawl.messages_number_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE pawl.migrations (
    version integer NOT NULL,
    at timestamp with time zone DEFAULT now() NOT NULL
);
ALTER TABLE pawl.sessions ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME pawl.sessions_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
INSERT INTO pawl.blobs VALUES (1, '81bdb2a0fac1faa4695a26af476d61ad90033de2d41d12f16e3ff6461d3dd462', '\x5b7b226e616d65223a22706179222c226465736372697074696f6e223a22506179732e222c22696e707574536368656d61223a7b2274797065223a226f626a656374222c2270726f70657274696573223a7b22616d6f756e74223a7b2274797065223a226e756d626572227d7d7d7d5d');
INSERT INTO pawl.commits OVERRIDING SYSTEM VALUE VALUES (1, 1, 3, 2, 'model_running', 1795643064944, 1, '[{"type":"session_created","v":2,"agent":"agent","model":"m","title":"Pay 5.","at":1795643064921},{"type":"run_started","runId":"first","limits":{"maxSteps":200,"maxErrors":20,"onMaxSteps":"summary","toolConcurrency":8,"abortGraceMs":5000,"maxContinuations":2,"maxStopPreventions":3,"maxCompactions":20},"input":[{"role":"user","parts":[{"type":"text","text":"Pay 5."}]}],"at":1795643064921},{"type":"prepared","runId":"first","modelCallIndex":1,"contextSeq":2,"purpose":"step","toolsHash":"81bdb2a0fac1faa4695a26af476d61ad90033de2d41d12f16e3ff6461d3dd462","at":1795643064921}]', 990484009, '{"v":2,"seq":3,"session":{"agent":"agent","model":"m","title":"Pay 5."},"queue":[],"interrupted":[],"context":{"readFrom":1},"runId":"first","startedAt":1795643064921,"startSeq":2,"limits":{"maxSteps":200,"maxErrors":20,"onMaxSteps":"summary","toolConcurrency":8,"abortGraceMs":5000,"maxContinuations":2,"maxStopPreventions":3,"maxCompactions":20},"modelCallIndex":1,"attempt":1,"counters":{"totalSteps":0,"errorCount":0,"compactionAttempts":0,"continuations":0,"stopPreventions":0,"outputRetries":0},"usage":{},"restarts":0,"waitedMs":0,"fallback":0,"failing":null,"compactionsInRow":0,"stopping":null,"status":"model_running","purpose":"step","contextSeq":2,"backoff":null}', 756726690, '88960');
INSERT INTO pawl.commits OVERRIDING SYSTEM VALUE VALUES (2, 1, 5, 2, 'awaiting_human', 1795643065021, 1, '[{"type":"model_finished","runId":"first","modelCallIndex":1,"attempt":1,"model":"m","timing":{"startedAt":1795643064996,"durationMs":2,"firstDeltaMs":1},"message":{"role":"assistant","parts":[{"type":"tool_call","toolCallId":"call_1","name":"pay","input":{"amount":5}}]},"finishReason":{"unified":"tool-calls"},"usage":{"partial":true},"at":1795643064998},{"type":"tool_decided","runId":"first","callKey":"first/1/1","decision":{"verdict":"ask","policy":{"recover":"fail"},"inputHash":"7e84cbf0f7a7c92c037058665d66152f8eb8580ab2534e52c877bccceb9cc7bf"},"at":1795643064998}]', 3744631530, '{"v":2,"seq":5,"session":{"agent":"agent","model":"m","title":"Pay 5."},"queue":[],"interrupted":[],"context":{"readFrom":1},"runId":"first","startedAt":1795643064921,"startSeq":2,"limits":{"maxSteps":200,"maxErrors":20,"onMaxSteps":"summary","toolConcurrency":8,"abortGraceMs":5000,"maxContinuations":2,"maxStopPreventions":3,"maxCompactions":20},"modelCallIndex":1,"attempt":1,"counters":{"totalSteps":1,"errorCount":0,"compactionAttempts":0,"continuations":0,"stopPreventions":0,"outputRetries":0},"usage":{"partial":true},"restarts":0,"waitedMs":0,"fallback":0,"failing":null,"compactionsInRow":0,"stopping":null,"status":"awaiting_human","calls":[{"callKey":"first/1/1","name":"pay","inputSeq":4,"inputHash":"7e84cbf0f7a7c92c037058665d66152f8eb8580ab2534e52c877bccceb9cc7bf","status":"asking","why":"policy","policy":{"recover":"fail"},"attempt":0,"askedAt":1795643064998}],"cut":null,"doneSeq":null,"since":1795643064998}', 4087701302, '88961');
INSERT INTO pawl.messages OVERRIDING SYSTEM VALUE VALUES (1, 1, 'run/first', 1795643064829, NULL, 1909592483, '88956');
INSERT INTO pawl.migrations VALUES (1, '2026-11-25 21:44:24.683133+00');
INSERT INTO pawl.sessions OVERRIDING SYSTEM VALUE VALUES (1, 'waits', 1795643064829, 1, NULL, 1795643079879, 15000, 'waiting', NULL, 1795643064998, 'agent', NULL, 'Pay 5.', NULL, NULL, '{"agent":"agent","model":"m","title":"Pay 5."}', 2809379392, 2, 5, 'awaiting_human', 1795643065021);
SELECT pg_catalog.setval('pawl.commits_number_seq', 2, true);
SELECT pg_catalog.setval('pawl.epochs', 1, true);
SELECT pg_catalog.setval('pawl.messages_number_seq', 1, true);
SELECT pg_catalog.setval('pawl.sessions_id_seq', 1, true);
ALTER TABLE ONLY pawl.blobs
    ADD CONSTRAINT blobs_pkey PRIMARY KEY (session, hash);
ALTER TABLE ONLY pawl.commits
    ADD CONSTRAINT commits_pkey PRIMARY KEY (number);
ALTER TABLE ONLY pawl.commits
    ADD CONSTRAINT commits_session_seq_key UNIQUE (session, seq);
ALTER TABLE ONLY pawl.messages
    ADD CONSTRAINT messages_pkey PRIMARY KEY (number);
ALTER TABLE ONLY pawl.messages
    ADD CONSTRAINT messages_session_id_key UNIQUE (session, id);
ALTER TABLE ONLY pawl.migrations
    ADD CONSTRAINT migrations_pkey PRIMARY KEY (version);
ALTER TABLE ONLY pawl.sessions
    ADD CONSTRAINT sessions_name_key UNIQUE (name);
ALTER TABLE ONLY pawl.sessions
    ADD CONSTRAINT sessions_pkey PRIMARY KEY (id);
CREATE INDEX commits_by_tx ON pawl.commits USING btree (tx);
CREATE INDEX inbox ON pawl.messages USING btree (session, number) WHERE (body IS NOT NULL);
CREATE INDEX messages_by_tx ON pawl.messages USING btree (tx);
CREATE INDEX sessions_asking ON pawl.sessions USING btree (asked_at, name) WHERE (asked_at IS NOT NULL);
CREATE INDEX sessions_by_epoch ON pawl.sessions USING btree (epoch);
CREATE INDEX sessions_by_parent ON pawl.sessions USING btree (parent) WHERE (parent IS NOT NULL);
CREATE INDEX sessions_by_update ON pawl.sessions USING btree (updated_at DESC, name);
CREATE INDEX sessions_due ON pawl.sessions USING btree (due_at) WHERE (due_at IS NOT NULL);
CREATE INDEX sessions_held ON pawl.sessions USING btree (holder) WHERE (holder IS NOT NULL);

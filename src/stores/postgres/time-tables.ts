/**
 * The tables of signals, schedules and notices. Version 4 of the tables added them. `time-schema.ts` of the SQLite store explains their
 * columns.
 */
export const timeTables = `
CREATE TABLE waits (
  session bigint NOT NULL,
  call text COLLATE "C" NOT NULL,
  step text COLLATE "C" NOT NULL,
  key text COLLATE "C" NOT NULL,
  expires_at float8,
  given text COLLATE "C",
  PRIMARY KEY (session, call, step)
);
CREATE INDEX waits_by_key ON waits (key, session, call, step) WHERE given IS NULL;
CREATE TABLE signals (
  number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  key text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  at float8 NOT NULL,
  kept_until float8 NOT NULL,
  pending boolean NOT NULL DEFAULT true,
  body text NOT NULL,
  body_sum bigint NOT NULL,
  UNIQUE (key, id)
);
CREATE INDEX signals_by_key ON signals (key, number);
CREATE INDEX signals_pending ON signals (key, number) WHERE pending;
CREATE INDEX signals_kept ON signals (kept_until);
CREATE TABLE schedules (
  id text COLLATE "C" PRIMARY KEY,
  rev bigint NOT NULL,
  slot float8,
  due_at float8,
  session text COLLATE "C",
  last text,
  body text NOT NULL,
  body_sum bigint NOT NULL
) WITH (fillfactor = 70);
CREATE INDEX schedules_due ON schedules (due_at, id) WHERE due_at IS NOT NULL;
CREATE INDEX schedules_by_session ON schedules (session, id);
CREATE TABLE slots (
  number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  schedule text COLLATE "C" NOT NULL,
  body text NOT NULL
);
CREATE INDEX slots_by_schedule ON slots (schedule, number);
CREATE TABLE endpoints (
  id text COLLATE "C" PRIMARY KEY,
  body text NOT NULL,
  body_sum bigint NOT NULL
);
CREATE TABLE notices (
  number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  endpoint text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  session text COLLATE "C",
  at float8 NOT NULL,
  due_at float8,
  tries int NOT NULL DEFAULT 0,
  body text NOT NULL,
  body_sum bigint NOT NULL,
  UNIQUE (endpoint, id)
);
CREATE INDEX notices_due ON notices (endpoint, due_at, number) WHERE due_at IS NOT NULL;
CREATE INDEX notices_by_session ON notices (session) WHERE session IS NOT NULL;
`;

/** The names of these tables, for grants. */
export const timeTableNames = "waits signals schedules slots endpoints notices";

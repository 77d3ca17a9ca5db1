/**
 * A PostgreSQL database that grows: what a run, a list and pruning cost at 10,000 to 1,000,000 rows of the log.
 *
 *     npm run bench -- retention --store postgres://…     an empty database; its schema `pawl` is dropped first and last
 *
 * One session of ten steps is run. SQL copies it, so that each copy has rest since a time of its own in the past year. Whatever is measured
 * then goes through the store, as it would in a program.
 */
import { parseArgs } from "node:util";
import pg from "pg";
import { createAgent, pruneSessions } from "../dist/index.js";
import { openPostgresStore } from "../dist/stores/postgres/index.js";
import { look, lookingModel } from "./looking-agent.mjs";
import { machine, median, table } from "./report.mjs";

const steps = 10;
const model = lookingModel(steps);

const dayMs = 24 * 3_600_000;

export async function run({ quick, json, rest }) {
  const { values } = parseArgs({ args: rest, options: { store: { type: "string" } } });
  if (values.store === undefined) throw new Error("Name an empty database: --store postgres://…");
  const client = new pg.Client({ connectionString: values.store });
  await client.connect();
  await client.query("DROP SCHEMA IF EXISTS pawl CASCADE");
  const store = await openPostgresStore({ url: values.store });
  const rows = [];
  try {
    await createAgent({ model, tools: [look], store }).run("Go", { sessionId: "template" });
    for (const wanted of quick ? [10_000, 100_000] : [10_000, 100_000, 1_000_000]) {
      await grow(client, wanted);
      rows.push(await measure(client, store));
    }
  } finally {
    await store.close();
    await client.query("DROP SCHEMA IF EXISTS pawl CASCADE");
    await client.end();
  }
  if (json) return console.log(JSON.stringify({ machine: machine(), rows }, null, 2));
  console.log(`${machine()}; PostgreSQL; sessions of ${steps} steps; medians\n`);
  const heads = [
    "rows",
    "sessions",
    "bytes a row",
    "a run, ms",
    "due, ms",
    "a page of the list, ms",
    "pruned sessions/s",
  ];
  console.log(
    table(
      heads,
      rows.map((row) => [
        row.rows.toLocaleString("en"),
        row.sessions.toLocaleString("en"),
        row.bytes.toFixed(0),
        row.run.toFixed(1),
        row.due.toFixed(2),
        row.page.toFixed(2),
        row.pruned.toFixed(0),
      ]),
    ),
  );
}

let copies = 0;

/** Copies the template until there are so many rows. */
async function grow(client, wanted) {
  const { n: each } = (
    await client.query(
      "SELECT count(*)::int AS n FROM pawl.commits WHERE session = (SELECT id FROM pawl.sessions WHERE name = 'template')",
    )
  ).rows[0];
  const more = Math.ceil(wanted / each) - copies;
  await client.query(
    `INSERT INTO pawl.sessions (name, created_at, activity, agent, title, info, info_sum, v, seq, status, updated_at)
     SELECT 'copy-' || number, created_at, activity, agent, title, info, info_sum, v, seq, status,
       updated_at - (random() * $1)
     FROM pawl.sessions, generate_series($2::int, $3::int) AS number WHERE name = 'template'`,
    [365 * dayMs, copies + 1, copies + more],
  );
  await client.query(
    `INSERT INTO pawl.commits (session, seq, v, status, at, epoch, events, events_sum, state, state_sum)
     SELECT copy.id, commit.seq, commit.v, commit.status, commit.at, commit.epoch, commit.events, commit.events_sum, commit.state,
       commit.state_sum
     FROM pawl.sessions AS copy, pawl.commits AS commit
     WHERE copy.name LIKE 'copy-%' AND substr(copy.name, 6)::int > $1
       AND commit.session = (SELECT id FROM pawl.sessions WHERE name = 'template')`,
    [copies],
  );
  copies += more;
  await client.query("ANALYZE pawl.sessions");
  await client.query("ANALYZE pawl.commits");
}

let runs = 0;

async function measure(client, store) {
  const [{ rows, sessions, bytes }] = (
    await client.query(
      `SELECT (SELECT count(*)::int FROM pawl.commits) AS rows, (SELECT count(*)::int FROM pawl.sessions) AS sessions,
         pg_total_relation_size('pawl.commits')::float8 + pg_total_relation_size('pawl.sessions')::float8 AS bytes`,
    )
  ).rows;
  const agent = createAgent({ model, tools: [look], store });
  const times = { run: [], due: [], page: [] };
  const timed = async (name, work) => {
    const before = performance.now();
    await work();
    times[name].push(performance.now() - before);
  };
  for (let round = 0; round < 15; round += 1) {
    runs += 1;
    await timed("run", () => agent.run("Go", { sessionId: `run-${runs}` }));
    await timed("due", () => store.due(Date.now(), 100));
    await timed("page", () => store.list({ limit: 50 }));
  }
  const oldest = await client.query("SELECT updated_at FROM pawl.sessions ORDER BY updated_at OFFSET 200 LIMIT 1");
  const before = performance.now();
  const { deleted } = await pruneSessions(store, { before: oldest.rows[0].updated_at, now: Date.now() });
  const pruned = (1_000 * deleted.length) / (performance.now() - before);
  return {
    rows,
    sessions,
    bytes: bytes / rows,
    pruned,
    run: median(times.run),
    due: median(times.due),
    page: median(times.page),
  };
}

/**
 * Lists of many sessions that have ended: the first page, pages of what filters find, and one session.
 *
 *     npm run bench -- lists                 one SQLite file
 *     npm run bench -- lists --postgres      a PostgreSQL server of its own
 */
import { join } from "node:path";
import { parseArgs } from "node:util";
import pg from "pg";
import { openPostgresStore } from "../dist/stores/postgres/index.js";
import { openSqliteStore } from "../dist/stores/sqlite/index.js";
import { startPostgres } from "../scripts/postgres/server.mjs";
import { inFolder } from "./folder.mjs";
import { machine, median, table } from "./report.mjs";

const holder = { id: "bench", host: "bench", pid: 1, startedAt: 1 };
const t0 = 1_790_000_000_000;

/** One in ten has a parent, one in a thousand another agent and a failed run. */
function stateOf(index) {
  const isRare = index % 1000 === 7;
  const parent = index % 10 === 3 ? { sessionId: `session-${index - 3}`, callKey: "run/1/1" } : undefined;
  return {
    v: 2,
    seq: 1,
    session: {
      agent: isRare ? "rare" : "coder",
      model: "bench",
      title: `Request ${index}`,
      root: `/work/${index % 50}`,
      parent,
    },
    queue: [],
    interrupted: [],
    context: {},
    status: isRare ? "failed" : "completed",
    runId: "run",
    startedAt: t0,
    startSeq: 1,
    limits: {},
    modelCallIndex: 1,
    attempt: 1,
    counters: { totalSteps: 1 },
    usage: {},
    restarts: 0,
    waitedMs: 0,
    fallback: 0,
    failing: null,
    compactionsInRow: 0,
    stopping: null,
    reason: isRare ? "model_error" : "stop",
  };
}

async function fill(store, count) {
  const events = [{ type: "restarted", runId: "run", holder: "bench", at: t0 }];
  const make = async (index) => {
    const { lease } = await store.claim(`session-${index}`, { holder, now: t0 + index, leaseMs: 30_000 });
    const rest = { at: t0 + index, activity: "resting", dueAt: null, askedAt: null, release: true };
    await store.commit(lease, { expectedSeq: 0, events, state: stateOf(index), ...rest });
  };
  for (let index = 0; index < count; index += 250)
    await Promise.all(Array.from({ length: Math.min(250, count - index) }, (_, at) => make(index + at)));
}

const looks = {
  "first 50": (store) => store.list({ limit: 50 }),
  "50 in the middle": (store, count) =>
    store.list({ limit: 50, after: { updatedAt: t0 + count / 2, sessionId: "session" } }),
  "50 of one folder in 50": (store) => store.list({ limit: 50, root: "/work/7" }),
  "50 without a parent": (store) => store.list({ limit: 50, parent: null }),
  "50 of a rare status": (store) => store.list({ limit: 50, status: ["failed"] }),
  "what is under way: nothing": (store) =>
    store.list({ limit: 50, status: ["preparing", "model_running", "tool_running"] }),
  "all of a rare agent": (store) => store.list({ agent: "rare" }),
  "an agent that is not there": (store) => store.list({ agent: "none" }),
  "50 with their runs": (store) => store.list({ limit: 50, parent: null, overview: true }),
  "50 with their runs, row by row": async (store) => {
    for (const { sessionId } of await store.list({ limit: 50, parent: null })) {
      await store.load(sessionId);
      await store.list({ parent: sessionId, limit: 1 });
    }
  },
  "a search that finds one": (store) => store.list({ limit: 50, text: "request 4007" }),
  "a search in 2,000, row by row": async (store) => {
    let after;
    for (let page = 0; page < 10; page += 1) {
      const found = await store.list({ limit: 200, after });
      found.filter(({ info }) => info.title.toLowerCase().includes("request 4007"));
      after = found.at(-1);
    }
  },
  "children of one": (store) => store.list({ parent: "session-0" }),
  "one session": (store, count) => store.describe(`session-${Math.floor(count / 2)}`),
};

async function measure({ store, analyze }, count, rounds) {
  await fill(store, count);
  await analyze();
  const row = [count.toLocaleString("en")];
  for (const look of Object.values(looks)) {
    const times = [];
    for (let round = 0; round < rounds; round += 1) {
      const before = performance.now();
      await look(store, count);
      times.push(performance.now() - before);
    }
    row.push(median(times).toFixed(2));
  }
  return row;
}

async function inFile(act) {
  return await inFolder(async (folder) => {
    const store = await openSqliteStore({ path: join(folder, "sessions.db"), synchronous: "normal" });
    const result = await act({ store, analyze: () => {} });
    await store.close();
    return result;
  });
}

async function inServer(act) {
  const server = await startPostgres();
  try {
    const store = await openPostgresStore({ url: server.url });
    const result = await act({ store, analyze: () => analyze(server.url) });
    await store.close();
    return result;
  } finally {
    await server.close();
  }
}

/** A server does it by itself within a minute. Without statistics it takes a filter for rare, and sorts all sessions. */
async function analyze(url) {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query("ANALYZE");
  await client.end();
}

export async function run({ quick, rest }) {
  const { values } = parseArgs({ args: rest, options: { postgres: { type: "boolean", default: false } } });
  const rows = [];
  for (const count of quick ? [1_000] : [1_000, 10_000, 100_000])
    rows.push(await (values.postgres ? inServer : inFile)((place) => measure(place, count, quick ? 9 : 21)));
  const place = values.postgres ? "one PostgreSQL server on this machine" : "one SQLite file, synchronous NORMAL";
  console.log(`${machine()}; ${place}; medians, ms\n`);
  console.log(table(["sessions", ...Object.keys(looks)], rows));
}

/**
 * What PostgreSQL costs beside the bare database: the same rows, written by one connection with nothing around them, in the same run.
 *
 *     npm run bench -- postgres [--store postgres://…] [--steps 200] [--sessions 100]
 *     npm run bench -- postgres --profile     what a step costs: statements by kind, processor time of both sides
 *
 * Without `--store` a server of its own is started, which syncs each commit. Model and tool answer at once. A round has one session
 * alone, the bare rows of that session, its commits once more by the store with no loop around them, and many sessions at once.
 */
import { parseArgs } from "node:util";
import pg from "pg";
import { createAgent, createMemoryStore } from "../dist/index.js";
import { openPostgresStore } from "../dist/stores/postgres/index.js";
import { startPostgres } from "../scripts/postgres/server.mjs";
import { look, lookingModel } from "./looking-agent.mjs";
import { costHeads, costRows, costSentence, countingSettings, createCosts } from "./postgres-costs.mjs";
import { machine, median, table } from "./report.mjs";

const connections = 20;
/** Steps of each session, if there are many. */
const stepsOfMany = 10;

export async function run({ quick, json, rest }) {
  const { values } = parseArgs({
    args: rest,
    options: {
      store: { type: "string" },
      steps: { type: "string", default: quick ? "50" : "200" },
      sessions: { type: "string", default: quick ? "20" : "100" },
      profile: { type: "boolean", default: false },
    },
  });
  const sizes = { steps: Number(values.steps), sessions: Number(values.sessions), rounds: quick ? 3 : 9 };
  const server = values.store === undefined ? await startPostgres(values.profile ? countingSettings : []) : null;
  try {
    if (values.profile) return await profile(values.store ?? server.url, sizes);
    const figures = await measure(values.store ?? server.url, sizes);
    if (json) return console.log(JSON.stringify({ machine: machine(), ...sizes, connections, ...figures }, null, 2));
    print(figures, sizes);
  } finally {
    await server?.close();
  }
}

async function measure(url, { steps, sessions, rounds }) {
  const statements = countStatements();
  const store = await openPostgresStore({ url, connections });
  const bare = new pg.Client({ connectionString: url });
  await bare.connect();
  const found = { alone: [], bare: [], again: [], memory: [], many: [], trips: [], commitsOfStep: [] };
  try {
    await makeBareTable(bare);
    // The first round warms everything up.
    for (let round = -1; round < rounds; round += 1) {
      const alone = await timedRuns(store, [`alone-${round}`], steps, statements);
      const rows = await rowsOf(bare, `alone-${round}`);
      const plain = await timedInserts(bare, round, rows);
      const again = await timedCommits(store, `again-${round}`, await commitsOf(store, `alone-${round}`, rows));
      const memory = await timedRuns(createMemoryStore(), ["memory"], steps, statements);
      const ids = Array.from({ length: sessions }, (_, at) => `many-${round}-${at}`);
      const many = await timedRuns(store, ids, stepsOfMany, statements);
      if (round < 0) continue;
      found.alone.push((1_000 * rows.length) / alone.ms);
      found.bare.push((1_000 * rows.length) / plain);
      found.again.push((1_000 * rows.length) / again);
      found.memory.push((1_000 * rows.length) / memory.ms);
      found.many.push((1_000 * sessions * (rows.length / steps) * stepsOfMany) / many.ms);
      found.trips.push((alone.statements - rows.length) / steps);
      found.commitsOfStep.push(rows.length / steps);
    }
  } finally {
    await bare.end();
    await store.close();
  }
  return Object.fromEntries(Object.entries(found).map(([name, list]) => [name, median(list)]));
}

/** The round of each that took the least processor time. */
async function profile(url, { steps, sessions, rounds }) {
  const store = await openPostgresStore({ url, connections });
  const bare = new pg.Client({ connectionString: url });
  await bare.connect();
  const least = new Map();
  const sum = ({ serverMs, clientMs }) => serverMs + clientMs;
  try {
    await makeBareTable(bare);
    const costs = await createCosts(bare);
    const note = async (what, stepsOf, work) => {
      const found = await costs.of(work);
      if (!what.includes("warm") && !(sum(least.get(what)?.found ?? found) < sum(found)))
        least.set(what, { found, stepsOf });
    };
    for (let round = -1; round < rounds; round += 1) {
      const warm = round < 0 ? " warm" : "";
      const ids = Array.from({ length: sessions }, (_, at) => `many-${round}-${at}`);
      const none = () => 0;
      await note(`One session${warm}`, steps, async () => (await timedRuns(store, [`alone-${round}`], steps, none)).ms);
      const rows = await rowsOf(bare, `alone-${round}`);
      await note(`Its bare rows${warm}`, steps, () => timedInserts(bare, round, rows));
      await note(
        `${sessions} sessions${warm}`,
        sessions * stepsOfMany,
        async () => (await timedRuns(store, ids, stepsOfMany, none)).ms,
      );
    }
  } finally {
    await bare.end();
    await store.close();
  }
  for (const [what, { found, stepsOf }] of least)
    console.log(`\n${what}. ${costSentence(found, stepsOf)}\n\n${table(costHeads, costRows(found, stepsOf))}`);
}

/** How many statements this process has sent, on all its connections. */
function countStatements() {
  const { prototype } = pg.Client;
  const { query } = prototype;
  let count = 0;
  prototype.query = function counted(...given) {
    count += 1;
    return query.apply(this, given);
  };
  return () => count;
}

/** Milliseconds and statements of runs that begin at once. */
async function timedRuns(store, ids, steps, statements) {
  const agent = createAgent({ model: lookingModel(steps), tools: [look], store, limits: { maxSteps: steps + 1 } });
  const [before, sent] = [performance.now(), statements()];
  const results = await Promise.all(ids.map((sessionId) => agent.run("Go", { sessionId })));
  const ms = performance.now() - before;
  for (const { status } of results) if (status !== "completed") throw new Error(`a run is ${status}`);
  return { ms, statements: statements() - sent };
}

const columns = "seq, v, status, at, epoch, events, events_sum, state, state_sum";

async function makeBareTable(bare) {
  await bare.query("DROP TABLE IF EXISTS bare_commits");
  await bare.query(`CREATE TABLE bare_commits (session bigint, ${columns.replace(/, /g, " text, ")} text,
    PRIMARY KEY (session, seq))`);
}

/** The rows that the store has written for a session. */
async function rowsOf(bare, name) {
  const { rows } = await bare.query(
    `SELECT ${columns} FROM commits WHERE session = (SELECT id FROM sessions WHERE name = $1) ORDER BY seq`,
    [name],
  );
  return rows.map((row) => Object.values(row).map(String));
}

/** The milliseconds that one connection takes for the same rows, each in a transaction of its own. */
async function timedInserts(bare, round, rows) {
  const text = `INSERT INTO bare_commits (session, ${columns}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`;
  const before = performance.now();
  for (const row of rows) await bare.query({ name: "insert", text, values: [round, ...row] });
  return performance.now() - before;
}

/** The commits of a session, as its driver gave them to the store. */
async function commitsOf(store, sessionId, rows) {
  const entries = await store.read(sessionId);
  const commits = [];
  let expectedSeq = 0;
  for (const [seqOfRow] of rows) {
    const seq = Number(seqOfRow);
    const { state } = await store.loadAt(sessionId, seq);
    const events = entries.slice(expectedSeq, seq).map(({ event }) => event);
    const at = events.at(-1).at;
    commits.push({ expectedSeq, events, state, at, activity: "active", dueAt: null, askedAt: null });
    expectedSeq = seq;
  }
  return commits;
}

/** The milliseconds that the store takes for the same commits, one after the other, with no loop around them. */
async function timedCommits(store, sessionId, commits) {
  const holder = { id: "bench", host: "here", pid: process.pid, startedAt: 1 };
  const claimed = await store.claim(sessionId, { holder, now: Date.now(), leaseMs: 600_000 });
  const before = performance.now();
  for (const commit of commits) {
    const { type } = await store.commit(claimed.lease, commit);
    if (type !== "ok") throw new Error(`a commit is ${type}`);
  }
  const ms = performance.now() - before;
  await store.release(claimed.lease);
  return ms;
}

function print({ alone, bare, again, memory, many, trips, commitsOfStep }, { steps, sessions }) {
  console.log(`${machine()}; PostgreSQL on this machine, ${connections} connections; medians\n`);
  const share = (rate) => `${((100 * rate) / bare).toFixed(0)} %`;
  const rows = [
    ["one connection, the bare rows", bare.toFixed(0), "100 %"],
    ["one connection, the same commits by the store", again.toFixed(0), share(again)],
    [`one session, ${steps} steps`, alone.toFixed(0), share(alone)],
    ["the same session in memory", memory.toFixed(0), share(memory)],
    [`${sessions} sessions at once, ${stepsOfMany} steps each`, many.toFixed(0), share(many)],
  ];
  console.log(table(["", "commits/s", "of the bare rate"], rows));
  console.log(
    `\nOne session has ${((100 * alone) / again).toFixed(0)} % of the rate of the same commits by the store.`,
  );
  console.log(
    `\nA step of the one session has ${commitsOfStep.toFixed(2)} commits, and ${trips.toFixed(2)} statements beside them.`,
  );
}

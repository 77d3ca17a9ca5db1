/**
 * The work behind `npm run crash`, in a thread of its own: it is handed jobs and answers each with what it counted.
 *
 * What did not hold is a failure { invariant, message }; `invariant` is its number in docs/reliability.md, or null.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import { parentPort, threadId, workerData } from "node:worker_threads";
import pg from "pg";
import { createMemoryStore } from "../temp/simulation/src/stores/memory/index.js";
import { openPostgresStore } from "../temp/simulation/src/stores/postgres/index.js";
import { openSqliteStore } from "../temp/simulation/src/stores/sqlite/index.js";
import { killTest } from "../temp/simulation/src/testing/kill-test.js";
import { createSeededRandom } from "../temp/simulation/src/testing/world/seeded-random.js";
import { prepareSimulatedPostgres } from "../temp/simulation/test/simulation/postgres.js";
import { scenarios } from "../temp/simulation/test/simulation/scenarios/scenarios.js";
import { sampleScenario, sweepScenario } from "../temp/simulation/test/simulation/scenarios/sweep.js";
import { simulate } from "../temp/simulation/test/simulation/simulate.js";

const jobs = { sweep, sample, seeds, kill, damage };

parentPort.on("message", async (job) => {
  try {
    parentPort.postMessage({ job, result: await jobs[job.kind](job) });
  } catch (error) {
    parentPort.postMessage({ job, result: { failures: [failureOf(error)] } });
  }
});

/** Every crash of a kind in a reference scenario; of more pairs than `mostPairs`, so many that are drawn. */
function sweep({ store, scenario, sweep, mostPairs }) {
  return withStore(store, (opened) => sweepScenario(scenarios[scenario], opened, sweep, { mostPairs }));
}

/** Some triples of crashes of a reference scenario. */
function sample({ store, scenario, count, seed }) {
  return withStore(store, (opened) => sampleScenario(scenarios[scenario], opened, { deaths: 3, count, seed }));
}

async function seeds({ store, from, until }) {
  const covered = { seeds: 0, commits: 0, kills: 0, stops: 0 };
  const failures = [];
  for (let seed = from; seed < until; seed += 1) {
    covered.seeds += 1;
    try {
      const report = await withStore(store, (opened) => simulate({ seed, store: opened }));
      for (const key of ["commits", "kills", "stops"]) covered[key] += report[key];
    } catch (error) {
      failures.push(failureOf(error));
    }
  }
  return { ...covered, failures };
}

/** A real program, killed with SIGKILL: a charge without a key is made once at most, a booking with a key exactly once. */
async function kill({ store, kills }) {
  const script = resolve("test/fixtures/paying-agent.mjs");
  const { url } = workerData;
  const inPostgres = {
    env: { PAYING_DATABASE: url },
    openStore: (folder) => openPostgresStore({ url, schema: basename(folder).replaceAll("-", "_"), connections: 2 }),
  };
  const inFile = { openStore: (folder) => openSqliteStore({ path: join(folder, "sessions.db") }) };
  const place = store === "PostgreSQL" ? inPostgres : inFile;
  const report = await killTest({ script, ...place, kills, check: checkCharges, atOnce: 1 });
  return { ...report, failures: [] };
}

function checkCharges({ folder, logs }) {
  const file = join(folder, "charges");
  const charges = existsSync(file) ? readFileSync(file, "utf8").trimEnd().split("\n") : [];
  if (new Set(charges).size < charges.length) throw Object.assign(new Error("a charge was made twice"), { number: 5 });
  for (const { event } of logs.get("pay")) {
    if (event.type !== "tool_finished" || event.outcome !== "ok" || !/\/(1\/2|2\/2)$/.test(event.callKey)) continue;
    // The program has chosen the id of the run.
    if (!charges.includes(`pay/${event.callKey}`))
      throw Object.assign(new Error(`${event.callKey} is said to be charged, and is not`), { number: 6 });
  }
}

/** Bytes of a store's file that are changed, one in each copy: what is read is what was written, or the damage is told. */
async function damage({ count, seed }) {
  const chance = createSeededRandom(seed);
  const folder = mkdtempSync(join(tmpdir(), "pawl-crash-"));
  const failures = [];
  try {
    const path = join(folder, "sound.db");
    const store = await openSqliteStore({ path });
    await sweepScenario(scenarios[1], store, "commits");
    const expected = await everything(store);
    await store.close();
    const sound = readFileSync(path);
    const findings = { same: 0, told: 0, silent: 0 };
    for (let copy = 0; copy < count; copy += 1) {
      const damaged = Buffer.from(sound);
      const position = chance.below(sound.length);
      damaged[position] ^= 1 + chance.below(255);
      const finding = await examine(join(folder, `damaged-${copy}.db`), damaged, expected);
      findings[finding] += 1;
      if (finding === "silent") failures.push({ invariant: null, message: `byte ${position} of a file: not noticed` });
    }
    return { copies: count, ...findings, failures };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

async function examine(path, bytes, expected) {
  writeFileSync(path, bytes);
  let store;
  try {
    store = await openSqliteStore({ path });
    if ((await everything(store)) === expected) return "same";
    return (await store.verify()).length > 0 ? "told" : "silent";
  } catch (error) {
    if (error.name !== "PawlError") throw error;
    return "told";
  } finally {
    await store?.close();
    rmSync(path);
  }
}

async function everything(store) {
  const all = [];
  for (const { sessionId } of await store.list())
    all.push([await store.load(sessionId), await store.read(sessionId), await store.inbox(sessionId)]);
  return JSON.stringify(all);
}

async function withStore(name, work) {
  if (name === "memory") return await work(createMemoryStore());
  if (name === "PostgreSQL") return await withPostgres(work);
  const folder = mkdtempSync(join(tmpdir(), "pawl-crash-"));
  // What other processes change is looked for in real time, of which none passes here.
  const store = await openSqliteStore({
    path: join(folder, "sessions.db"),
    synchronous: "normal",
    pollMs: 2_000_000_000,
  });
  try {
    return await work(store);
  } finally {
    await store.close();
    rmSync(folder, { recursive: true });
  }
}

let openSimulatedPostgres = null;

/** Each thread has a database of its own, on the server whose address it was given. */
async function withPostgres(work) {
  openSimulatedPostgres ??= await prepareDatabase(`thread_${threadId}`);
  const store = await openSimulatedPostgres();
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}

async function prepareDatabase(name) {
  const { url } = workerData;
  const server = new pg.Client({ connectionString: url });
  await server.connect();
  await server.query(`CREATE DATABASE ${name}`);
  await server.end();
  const pool = new pg.Pool({ connectionString: url.replace(/postgres$/, name), max: 4 });
  return await prepareSimulatedPostgres(pool);
}

function failureOf(error) {
  return { invariant: error.invariant ?? error.cause?.number ?? null, message: error.message };
}

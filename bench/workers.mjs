/**
 * Worker processes on one PostgreSQL database: four beside one at the same work, and how soon another one carries a session on whose
 * process was killed.
 *
 *     npm run bench -- workers [--store postgres://…] [--sessions 100] [--steps 10]
 *     npm run bench -- workers --profile     what a step costs with one and with four: statements by kind, processor time of both sides
 *
 * Without `--store` a server of its own is started, which syncs each commit. Model and tool answer at once.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { parseArgs } from "node:util";
import pg from "pg";
import { createClient } from "../dist/index.js";
import { openPostgresStore } from "../dist/stores/postgres/index.js";
import { startPostgres } from "../scripts/postgres/server.mjs";
import { costHeads, costRows, costSentence, countingSettings, createCosts } from "./postgres-costs.mjs";
import { machine, median, table } from "./report.mjs";

export async function run({ quick, json, rest }) {
  const { values } = parseArgs({
    args: rest,
    options: {
      store: { type: "string" },
      sessions: { type: "string", default: quick ? "20" : "100" },
      steps: { type: "string", default: "10" },
      profile: { type: "boolean", default: false },
    },
  });
  const sizes = { sessions: Number(values.sessions), steps: Number(values.steps), rounds: quick ? 3 : 7 };
  const server = values.store === undefined ? await startPostgres(values.profile ? countingSettings : []) : null;
  const url = values.store ?? server.url;
  const store = await openPostgresStore({ url });
  try {
    if (values.profile) return await profile({ url, store }, sizes);
    const rates = await compare({ url, store }, sizes);
    const takeUpMs = await takeUp({ url, store }, sizes.rounds);
    if (json) return console.log(JSON.stringify({ machine: machine(), ...sizes, ...rates, takeUpMs }, null, 2));
    console.log(
      `${machine()}; PostgreSQL on this machine; ${sizes.sessions} sessions, ${sizes.steps} steps; medians\n`,
    );
    const rowsOf = ({ one, four }, when) => [
      [`1, ${when}`, one.toFixed(0), "100 %"],
      [`4, ${when}`, four.toFixed(0), `${((100 * four) / one).toFixed(0)} %`],
    ];
    const rows = [...rowsOf(rates, "at work for a while"), ...rowsOf(rates.first, "just started")];
    console.log(table(["worker processes", "steps/s", "of one"], rows));
    console.log(
      `\nAfter kill -9, another process of the host carries the session on within ${takeUpMs.toFixed(0)} ms.`,
    );
  } finally {
    await store.close();
    await server?.close();
  }
}

/** Rounds of both, one after the other. The same sessions wait in the store, and the processes have started. */
async function compare(place, sizes) {
  const rates = { one: [], four: [] };
  const first = { one: [], four: [] };
  const rate = (ms) => (1_000 * sizes.sessions * sizes.steps) / ms;
  for (let round = -1; round < sizes.rounds; round += 1)
    for (const name of Object.keys(counts)) {
      const workers = await startWorkers(place, name, sizes);
      const firstMs = await timedWork(place, workers, `${name}-${round}-first`, sizes);
      for (let batch = 1; batch < warmBatches; batch += 1)
        await timedWork(place, workers, `${name}-${round}-warm-${batch}`, sizes);
      const ms = await timedWork(place, workers, `${name}-${round}`, sizes);
      await endAll(workers, "SIGTERM");
      await allCompleted(place.store, idsOf(`${name}-${round}`, sizes));
      // The first round of each warms the database up.
      if (round < 0) continue;
      first[name].push(rate(firstMs));
      rates[name].push(rate(ms));
    }
  const ofAll = ({ one, four }) => ({ one: median(one), four: median(four) });
  return { ...ofAll(rates), first: ofAll(first) };
}

/**
 * Batches of sessions before the one that counts. A worker runs for days, and V8 compiles what it sees often: with four processes it
 * takes four times as much work until each has seen enough.
 */
const warmBatches = 20;

const counts = { one: 1, four: 4 };

function startWorkers({ url }, name, { sessions, steps }) {
  return startAll(url, counts[name], ["--steps", `${steps}`, "--concurrency", `${sessions}`]);
}

/** Milliseconds from the first message to the end of the last run, of which the workers tell: to ask the store would cost it time. */
async function timedWork({ store }, workers, name, sizes) {
  const ids = idsOf(name, sizes);
  const client = createClient({ store });
  const allEnded = runsEnded(workers, ids.length);
  const before = performance.now();
  await Promise.all(ids.map((id) => client.session(id).send("Go", { agent: "bench" })));
  await allEnded;
  return performance.now() - before;
}

const idsOf = (name, { sessions }) => Array.from({ length: sessions }, (_, at) => `${name}-${at}`);

/** Resolves when the processes have told of so many runs. */
function runsEnded(workers, count) {
  return new Promise((resolve) => {
    let left = count;
    const onData = (data) => {
      left -= data.toString().split("\n").length - 1;
      if (left > 0) return;
      for (const { stdout } of workers) stdout.off("data", onData);
      resolve();
    };
    for (const { stdout } of workers) stdout.on("data", onData);
  });
}

/** The round of each that took the least processor time. */
async function profile(place, sizes) {
  const client = new pg.Client({ connectionString: place.url });
  await client.connect();
  const costs = await createCosts(client);
  const least = {};
  for (let round = -1; round < sizes.rounds; round += 1)
    for (const name of Object.keys(counts)) {
      const workers = await startWorkers(place, name, sizes);
      for (let batch = 0; batch < warmBatches; batch += 1)
        await timedWork(place, workers, `${name}-${round}-warm-${batch}`, sizes);
      const found = await costs.of(() => timedWork(place, workers, `${name}-${round}`, sizes));
      await endAll(workers, "SIGTERM");
      await allCompleted(place.store, idsOf(`${name}-${round}`, sizes));
      const sum = ({ serverMs, clientMs }) => serverMs + clientMs;
      if (round >= 0 && (least[name] === undefined || sum(found) < sum(least[name]))) least[name] = found;
    }
  await client.end();
  for (const [name, found] of Object.entries(least)) {
    const steps = sizes.sessions * sizes.steps;
    console.log(
      `\n${counts[name]} of them. ${costSentence(found, steps)}\n\n${table(costHeads, costRows(found, steps))}`,
    );
  }
}

/** Kills a process whose run is in a tool, and waits until the other one has begun anew. */
async function takeUp({ url, store }, rounds) {
  const times = [];
  for (let round = 0; round < rounds; round += 1) {
    const id = `killed-${round}`;
    const first = await startAll(url, 1, ["--steps", "2", "--hangs"]);
    await createClient({ store }).session(id).send("Go", { agent: "bench" });
    await seen(store, id, "tool_decided");
    const others = await startAll(url, 1, ["--steps", "2"]);
    const before = performance.now();
    await endAll(first, "SIGKILL");
    await seen(store, id, "restarted");
    times.push(performance.now() - before);
    await allCompleted(store, [id]);
    await endAll(others, "SIGTERM");
  }
  return median(times);
}

/** Resolves when the log has an event of this type. */
async function seen(store, id, type) {
  while (!(await store.read(id)).some(({ event }) => event.type === type)) await pause();
}

/** A look of its own takes time of the server, too. */
const pause = (ms = 5) => new Promise((done) => setTimeout(done, ms));
const open = ["idle", "preparing", "model_running", "tool_running"];

async function noneOpen(store) {
  while ((await store.list({ status: open, limit: 1 })).length > 0) await pause(25);
}

async function allCompleted(store, ids) {
  await noneOpen(store);
  for (const id of ids)
    if ((await store.describe(id))?.status !== "completed") throw new Error(`The run of ${id} is not completed.`);
}

/** Starts worker processes. Resolves when each has said that it works. */
async function startAll(url, count, options) {
  const file = new URL("worker-process.mjs", import.meta.url).pathname;
  const stdio = ["ignore", "pipe", "inherit"];
  const children = Array.from({ length: count }, () =>
    spawn(process.execPath, [file, "--store", url, ...options], { stdio }),
  );
  const ended = children.map((child) =>
    once(child, "exit").then(() => Promise.reject(new Error("A worker process ended before it worked."))),
  );
  for (const one of ended) one.catch(() => {});
  await Promise.race([Promise.all(children.map((child) => once(child.stdout, "data"))), ...ended]);
  return children;
}

async function endAll(children, signal) {
  const ends = children.map((child) => once(child, "exit"));
  for (const child of children) child.kill(signal);
  await Promise.all(ends);
}

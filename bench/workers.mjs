/**
 * Worker processes on one PostgreSQL database: four beside one at the same work, and how soon another one carries a session on whose
 * process was killed.
 *
 *     npm run bench -- workers [--store postgres://…] [--sessions 100] [--steps 10]
 *
 * Without `--store` a server of its own is started, which syncs each commit. Model and tool answer at once.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { parseArgs } from "node:util";
import { createClient } from "../dist/index.js";
import { openPostgresStore } from "../dist/stores/postgres/index.js";
import { startPostgres } from "../scripts/postgres/server.mjs";
import { machine, median, table } from "./report.mjs";

export async function run({ quick, json, rest }) {
  const { values } = parseArgs({
    args: rest,
    options: {
      store: { type: "string" },
      sessions: { type: "string", default: quick ? "20" : "100" },
      steps: { type: "string", default: "10" },
    },
  });
  const sizes = { sessions: Number(values.sessions), steps: Number(values.steps), rounds: quick ? 3 : 7 };
  const server = values.store === undefined ? await startPostgres() : null;
  const url = values.store ?? server.url;
  const store = await openPostgresStore({ url });
  try {
    const rates = await compare({ url, store }, sizes);
    const takeUpMs = await takeUp({ url, store }, sizes.rounds);
    if (json) return console.log(JSON.stringify({ machine: machine(), ...sizes, ...rates, takeUpMs }, null, 2));
    console.log(
      `${machine()}; PostgreSQL on this machine; ${sizes.sessions} sessions, ${sizes.steps} steps; medians\n`,
    );
    const share = `${((100 * rates.four) / rates.one).toFixed(0)} %`;
    const rows = [
      ["1", rates.one.toFixed(0), "100 %"],
      ["4", rates.four.toFixed(0), share],
    ];
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
async function compare(place, { sessions, steps, rounds }) {
  const rates = { one: [], four: [] };
  for (let round = -1; round < rounds; round += 1)
    for (const [name, count] of [
      ["one", 1],
      ["four", 4],
    ]) {
      const workers = await startAll(place.url, count, ["--steps", `${steps}`, "--concurrency", `${sessions}`]);
      const ids = Array.from({ length: sessions }, (_, at) => `${name}-${round}-${at}`);
      const client = createClient({ store: place.store });
      const before = performance.now();
      await Promise.all(ids.map((id) => client.session(id).send("Go", { agent: "bench" })));
      await allCompleted(place.store, ids);
      // The first round of each warms the database up.
      if (round >= 0) rates[name].push((1_000 * sessions * steps) / (performance.now() - before));
      await endAll(workers, "SIGTERM");
    }
  return { one: median(rates.one), four: median(rates.four) };
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

const pause = () => new Promise((done) => setTimeout(done, 5));
const open = ["idle", "preparing", "model_running", "tool_running"];

async function allCompleted(store, ids) {
  while ((await store.list({ status: open, limit: 1 })).length > 0) await pause();
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

/**
 * Tools that sleep and wait for signals: what a process holds for them, and what they add to a look for due sessions and to a signal.
 *
 *     npm run bench -- sleepers
 *
 * Real runs are measured in the process that began them. For the large stores, the rows of one sleeper are copied, because only the rows
 * of `sessions` and `waits` are read.
 */
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import Database from "libsql";
import { createAgent, createClient, defineTool } from "../dist/index.js";
import { openSqliteStore } from "../dist/stores/sqlite/index.js";
import { inFolder } from "./folder.mjs";
import { machine, median, table } from "./report.mjs";

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc");

const wait = defineTool({
  name: "wait",
  description: "Waits for a payment, at most a week.",
  input: { type: "object" },
  durable: true,
  async execute(_, { waitFor, sessionId }) {
    return (await waitFor("payment", { key: sessionId, timeoutMs: 7 * 86_400_000 })).type;
  },
});

/** Calls the tool. A scripted model would keep each request. */
const model = {
  id: "bench",
  async *stream() {
    yield { kind: "start" };
    yield { kind: "tool-call", id: "call_1", name: "wait", input: "{}" };
    yield { kind: "done", finishReason: { unified: "tool-calls" }, usage: {} };
  },
};

const agentOn = (store) => createAgent({ name: "sleeper", model, tools: [wait], store });

async function begin(agent, count, name) {
  const atOnce = 500;
  for (let index = 0; index < count; index += atOnce) {
    const ids = Array.from({ length: Math.min(atOnce, count - index) }, (_, at) => `${name}-${index + at}`);
    for (const { status } of await Promise.all(ids.map((sessionId) => agent.run("Wait.", { sessionId }))))
      if (status !== "waiting") throw new Error(`a run is ${status}`);
  }
}

const countTimers = () => process.getActiveResourcesInfo().filter((name) => name === "Timeout").length;

async function measureHeld(count) {
  return await inFolder(async (folder) => {
    const store = await openSqliteStore({ path: join(folder, "sessions.db"), synchronous: "normal" });
    const agent = agentOn(store);
    // A constant part of the heap stays, however many sleep.
    await begin(agent, 1_000, "warm-up");
    await pause(50);
    collectGarbage();
    const [heap, timers] = [process.memoryUsage().heapUsed, countTimers()];
    await begin(agent, count, "held");
    await pause(50);
    collectGarbage();
    const held = { bytes: (process.memoryUsage().heapUsed - heap) / count, timers: countTimers() - timers };
    await store.close();
    return held;
  });
}

/** Copies the rows of the session `copied-0`, with names and keys of their own. */
function copySleeper(path, count) {
  const database = new Database(path);
  const copy = (name, fields) => {
    const columns = database.prepare(`SELECT name FROM pragma_table_info('${name}')`).all();
    const names = columns.map((column) => column.name).filter((column) => column !== "id");
    const values = names.map((column) => fields[column] ?? column);
    return { into: `${name} (${names.join(", ")})`, values: values.join(", ") };
  };
  const numbers = `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${count - 1})`;
  const first = "(SELECT id FROM sessions WHERE name = 'copied-0')";
  const sessions = copy("sessions", { name: "'copied-' || n.i" });
  database.exec(
    `INSERT INTO ${sessions.into} ${numbers} SELECT ${sessions.values} FROM n, sessions WHERE sessions.id = ${first}`,
  );
  const waits = copy("waits", {
    session: `(SELECT id FROM sessions WHERE name = 'copied-' || n.i)`,
    key: "'copied-' || n.i",
  });
  database.exec(
    `INSERT INTO ${waits.into} ${numbers} SELECT ${waits.values} FROM n, waits WHERE waits.session = ${first}`,
  );
  database.close();
}

/** The median of so many rounds, in milliseconds. */
async function timed(rounds, work) {
  const times = [];
  for (let round = 0; round < rounds; round += 1) {
    const before = performance.now();
    await work();
    times.push(performance.now() - before);
  }
  return median(times);
}

async function measureStore(count, rounds) {
  return await inFolder(async (folder) => {
    const path = join(folder, "sessions.db");
    const first = await openSqliteStore({ path });
    await begin(agentOn(first), 1, "copied");
    await first.close();
    copySleeper(path, count);
    const store = await openSqliteStore({ path });
    const client = createClient({ store });
    const look = () => store.due(Date.now(), 64);
    await timed(10 * rounds, look);
    const due = await timed(10 * rounds, look);
    // One after the other, so that both meet the same disk.
    const [posts, signals] = [[], []];
    for (let round = 0; round < rounds; round += 1) {
      const key = `copied-${1 + Math.floor(((count - 1) * round) / rounds)}`;
      const message = { id: "run/r", at: Date.now(), body: { type: "abort" } };
      posts.push(await timed(1, () => store.post(key, message)));
      signals.push(
        await timed(1, async () => {
          const { sessions } = await client.signal(key, null);
          if (sessions.length !== 1) throw new Error(`${sessions.length} sessions got the signal`);
        }),
      );
    }
    const [posted, signal] = [median(posts), median(signals)];
    await store.close();
    return { count, due, posted, signal };
  });
}

export async function run({ quick, json }) {
  const held = await measureHeld(quick ? 1_000 : 100_000);
  const rows = [];
  for (const count of quick ? [1_000, 10_000] : [1_000, 1_000_000]) rows.push(await measureStore(count, 101));
  if (json) return console.log(JSON.stringify({ machine: machine(), held, rows }, null, 2));
  console.log(`${machine()}; one SQLite file; medians\n`);
  console.log(
    table(
      ["sleepers", "look for due sessions, ms", "post a message, ms", "signal to one of them, ms", "signal × post"],
      rows.map(({ count, due, posted, signal }) => [
        count.toLocaleString("en"),
        due.toFixed(3),
        posted.toFixed(2),
        signal.toFixed(2),
        (signal / posted).toFixed(2),
      ]),
    ),
  );
  console.log(
    `\nHeld by the process that began them: ${held.bytes.toFixed(0)} bytes of heap each, and ${held.timers} timers in all.`,
  );
}

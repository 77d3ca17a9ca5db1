/**
 * Chaos on the wire: server processes on one store, clients that run, watch, answer, steer, abort, drop and come back,
 * and processes that are killed or drained. In the end each client's view must equal the log.
 *
 *     npm run chaos                             60 seconds, 3 servers, 50 clients, a seed drawn at random
 *     npm run chaos -- --seconds 600 --seed 7   longer, with a seed of yours
 *     npm run chaos -- --servers 5 --clients 100
 *     npm run chaos -- --store postgres         on PostgreSQL, through PgBouncer; both are killed and started again
 *
 * A seed fixes what each client and each process does, and when a process or the database dies: after so many commits. How they
 * interleave is up to the machine. PostgreSQL and PgBouncer are those of this machine, with files of their own.
 */
import { randomInt } from "node:crypto";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { parseArgs } from "node:util";
import { checkAll, eventsOfAll } from "./chaos/check.mjs";
import { createClient } from "./chaos/client.mjs";
import { createDatabase, missingPrograms } from "./chaos/database.mjs";
import { createPlaces } from "./chaos/places.mjs";
import { openPlace } from "./chaos/store.mjs";

const { values } = parseArgs({
  options: {
    seconds: { type: "string", default: "60" },
    servers: { type: "string", default: "3" },
    clients: { type: "string", default: "50" },
    store: { type: "string", default: "sqlite" },
    seed: { type: "string", default: String(randomInt(2 ** 31)) },
  },
});
const [seconds, serverCount, clientCount, seed] = ["seconds", "servers", "clients", "seed"].map((name) =>
  Number(values[name]),
);
const areNumbers = [seconds, serverCount, clientCount, seed].every(Number.isSafeInteger);
if (!areNumbers || seconds < 1 || serverCount < 1 || !["sqlite", "postgres"].includes(values.store)) {
  console.error(
    "Usage: npm run chaos -- [--store sqlite|postgres] [--seconds N] [--servers N] [--clients N] [--seed N]",
  );
  process.exit(2);
}
const missing = values.store === "postgres" ? missingPrograms() : null;
if (missing !== null) {
  console.error(`${missing} Nothing was tested.`);
  process.exit(process.env.CI === undefined ? 0 : 1);
}

const mostFailures = 10;
/** How long nothing may come nearer to rest, in milliseconds. */
const restMs = 120_000;

const folder = mkdtempSync(join(tmpdir(), "pawl-chaos-"));
const journal = join(folder, "journal");
const token = "a-token-of-the-chaos-test-alone";
const failures = [];
writeFileSync(journal, "");

function fail(what) {
  failures.push(what);
}

const database = values.store === "postgres" ? await createDatabase({ seed }) : null;
const place = database?.place ?? { path: join(folder, "sessions.db") };
await (await openPlace(place)).close();
const places = await createPlaces({
  count: serverCount,
  place,
  journal,
  seed,
  token,
  commits: [10, 250],
  fail,
  onCommit: () => database?.committed(),
});
const world = { ports: places.ports, token, sessions: new Set(), fail };
const startedAt = performance.now();
const isOver = () => performance.now() - startedAt > seconds * 1_000 || failures.length >= mostFailures;
const clients = Array.from({ length: clientCount }, (_, index) => createClient({ seed, index, world, isOver }));
await Promise.all(clients.map((client) => client.run()));
await comeToRest();
const store = await openPlace(place);
const logs = await eventsOfAll(store, world.sessions);
for (const problem of await store.verify()) fail(`the store is damaged: ${JSON.stringify(problem)}`);
await Promise.all(clients.map((client) => readToEnd(client, logs)));
checkAll({ clients, logs, journal, fail });
await store.close();
await end();
report();

/** No process dies any more; what waits is denied, until every run has its end. */
async function comeToRest() {
  await database?.stay();
  await places.stay();
  const [client] = clients;
  await endAll(client);
  // After an abort no queued run starts by itself: the next run brings it on.
  for (const sessionId of world.sessions) {
    const found = await client.ask("GET", `/v1/sessions/${sessionId}`);
    if (found?.json?.status === "aborted")
      await client.ask("POST", `/v1/sessions/${sessionId}/runs`, { input: "Go on." });
  }
  await endAll(client);
}

/** The time begins anew with each answer that counts and each session that comes to rest: on a busy machine that takes long. */
async function endAll(client) {
  let open = [...world.sessions];
  for (let since = performance.now(); ; ) {
    const answered = firstAnswers(client);
    const found = await client.ask("GET", "/v1/approvals?limit=100");
    for (const approval of found?.json?.approvals ?? []) await client.give(approval, false);
    const stillOpen = await openOf(client, open);
    if (stillOpen.length === 0) return;
    if (stillOpen.length < open.length || firstAnswers(client) > answered) since = performance.now();
    open = stillOpen.map(({ sessionId }) => sessionId);
    if (performance.now() - since > restMs) {
      const words = stillOpen.map(({ sessionId, status }) => `${sessionId} (${status})`);
      return fail(`${open.length} sessions have not come to rest: ${words.join(", ")}`);
    }
  }
}

function firstAnswers(client) {
  return client.done.answers.filter(({ counted }) => counted === "first").length;
}

async function openOf(client, sessionIds) {
  const open = [];
  for (const sessionId of sessionIds) {
    const found = await client.ask("GET", `/v1/sessions/${sessionId}`);
    const status = found?.json?.status;
    if (!["completed", "failed", "aborted", "idle"].includes(status)) open.push({ sessionId, status });
  }
  return open;
}

/** Each client reads what it watched to its end. */
async function readToEnd(client, logs) {
  for (const [sessionId, own] of client.watched) {
    const whole = logs.get(sessionId).length;
    const isEnough = ({ events }) => events.length >= whole;
    for (let turn = 0; !isEnough(own) && turn < 20; turn += 1) await client.watch(sessionId, whole + 50, isEnough);
  }
}

async function end() {
  await places.end();
  await database?.close();
  if (failures.length === 0 && existsSync(folder)) rmSync(folder, { recursive: true });
}

function report() {
  const sum = (name) =>
    clients.reduce((total, { done }) => total + (done[name].length ?? done[name]), 0).toLocaleString("en");
  const events = [...logs.values()].reduce((total, log) => total + log.length, 0).toLocaleString("en");
  const died = countsIn(places.ends);
  const gone = database === null ? "" : `; the database ${countsIn(database.ends)}`;
  if (database !== null && Object.values(database.ends).every((count) => count === 0)) fail("the database never died");
  for (const failure of failures.slice(0, mostFailures)) console.error(failure);
  if (failures.length > 0 && database === null) console.error(`The store is kept: ${folder}`);
  console.log(
    `Seed ${seed}: ${world.sessions.size} sessions, ${sum("runs")} runs, ${events} events, ${sum("frames")} frames, ${sum("peerDeltas")} deltas of other processes, ` +
      `${sum("drops")} dropped streams, ${sum("answers")} answers, ${sum("steers")} steers, ${sum("aborts")} aborts; ` +
      `servers ${died}${gone}; ${failures.length} failed`,
  );
  process.exitCode = failures.length > 0 ? 1 : 0;
}

function countsIn(ends) {
  return Object.entries(ends)
    .map(([how, count]) => `${count} ${how}`)
    .join(", ");
}

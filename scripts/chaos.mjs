/**
 * Chaos on the wire: server processes on one SQLite file, clients that run, watch, answer, steer, abort, drop and come back,
 * and processes that are killed or drained. In the end each client's view must equal the log.
 *
 *     npm run chaos                             60 seconds, 3 servers, 50 clients, a seed drawn at random
 *     npm run chaos -- --seconds 600 --seed 7   longer, with a seed of yours
 *     npm run chaos -- --servers 5 --clients 100
 *
 * A seed fixes what each client and each process does, and when a process dies: after so many commits. How they interleave
 * is up to the machine.
 */
import { fork } from "node:child_process";
import { randomInt } from "node:crypto";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { openSqliteStore } from "pawl/sqlite";
import { checkAll, eventsOfAll } from "./chaos/check.mjs";
import { createClient } from "./chaos/client.mjs";
import { createRandom } from "./chaos/random.mjs";

const { values } = parseArgs({
  options: {
    seconds: { type: "string", default: "60" },
    servers: { type: "string", default: "3" },
    clients: { type: "string", default: "50" },
    seed: { type: "string", default: String(randomInt(2 ** 31)) },
  },
});
const [seconds, serverCount, clientCount, seed] = ["seconds", "servers", "clients", "seed"].map((name) =>
  Number(values[name]),
);
if (![seconds, serverCount, clientCount, seed].every(Number.isSafeInteger) || seconds < 1 || serverCount < 1) {
  console.error("Usage: npm run chaos -- [--seconds N] [--servers N] [--clients N] [--seed N]");
  process.exit(2);
}

const mostFailures = 10;
/** How long everything may take to come to rest, in milliseconds. */
const restMs = 120_000;

const folder = mkdtempSync(join(tmpdir(), "pawl-chaos-"));
const path = join(folder, "sessions.db");
const journal = join(folder, "journal");
const token = "a-token-of-the-chaos-test-alone";
const ends = { "killed before": 0, "killed after": 0, drained: 0 };
const failures = [];
writeFileSync(journal, "");

function fail(what) {
  failures.push(what);
}

/** A port that is free now. */
async function freePort() {
  const probe = createServer();
  probe.listen(0, "127.0.0.1");
  await once(probe, "listening");
  const { port } = probe.address();
  probe.close();
  await once(probe, "close");
  return port;
}

/** One place among the servers: when its process ends, the next one begins at the same port. */
async function createPlace(port, index) {
  const place = { child: null, lives: 0, isLast: false, isOver: false, up: Promise.resolve() };
  async function live() {
    const random = createRandom(seed, "server", index, place.lives);
    const life = { commits: random.whole(10, 250), end: random.one(Object.keys(ends)) };
    place.lives += 1;
    if (place.isLast) life.end = "none";
    const options = { path, journal, seed, port, ports, token, life };
    const child = fork(fileURLToPath(new URL("./chaos/server.mjs", import.meta.url)), [JSON.stringify(options)]);
    place.child = child;
    child.on("message", (message) => {
      if ("error" in message) fail(message.error);
    });
    child.once("exit", (code, signal) => {
      if (place.isOver) return;
      if (signal === null && code !== 0) fail(`server ${index} ended with ${code}`);
      ends[life.end] += 1;
      place.up = live();
    });
    await once(child, "message");
  }
  place.up = live();
  await place.up;
  return place;
}

await (await openSqliteStore({ path })).close();
const ports = await Promise.all(Array.from({ length: serverCount }, freePort));
const places = await Promise.all(ports.map(createPlace));
const world = { ports, token, sessions: new Set(), fail };
const startedAt = performance.now();
const isOver = () => performance.now() - startedAt > seconds * 1_000 || failures.length >= mostFailures;
const clients = Array.from({ length: clientCount }, (_, index) => createClient({ seed, index, world, isOver }));
await Promise.all(clients.map((client) => client.run()));
await comeToRest();
const store = await openSqliteStore({ path });
const logs = await eventsOfAll(store, world.sessions);
await Promise.all(clients.map((client) => readToEnd(client, logs)));
checkAll({ clients, logs, journal, fail });
await store.close();
await end();
report();

/** No process dies any more; what waits is denied, until every run has its end. */
async function comeToRest() {
  for (const place of places) {
    place.isLast = true;
    await place.up;
    if (place.child.connected) place.child.send("stay");
  }
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

async function endAll(client) {
  const until = performance.now() + restMs;
  for (;;) {
    const found = await client.ask("GET", "/v1/approvals?limit=100");
    for (const approval of found?.json?.approvals ?? []) await client.give(approval, false);
    const open = await openSessions(client);
    if (open.length === 0) return;
    if (performance.now() > until) return fail(`${open.length} sessions have not come to rest: ${open.join(", ")}`);
  }
}

async function openSessions(client) {
  const open = [];
  for (const sessionId of world.sessions) {
    const found = await client.ask("GET", `/v1/sessions/${sessionId}`);
    if (!["completed", "failed", "aborted", "idle"].includes(found?.json?.status))
      open.push(`${sessionId} (${found?.json?.status})`);
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
  for (const place of places) {
    const { child } = place;
    place.isOver = true;
    if (child.exitCode !== null || child.signalCode !== null) continue;
    child.send("end");
    await once(child, "exit");
  }
  if (failures.length === 0 && existsSync(folder)) rmSync(folder, { recursive: true });
}

function report() {
  const sum = (name) =>
    clients.reduce((total, { done }) => total + (done[name].length ?? done[name]), 0).toLocaleString("en");
  const events = [...logs.values()].reduce((total, log) => total + log.length, 0).toLocaleString("en");
  const died = Object.entries(ends)
    .map(([how, count]) => `${count} ${how}`)
    .join(", ");
  for (const failure of failures.slice(0, mostFailures)) console.error(failure);
  if (failures.length > 0) console.error(`The store is kept: ${folder}`);
  console.log(
    `Seed ${seed}: ${world.sessions.size} sessions, ${sum("runs")} runs, ${events} events, ${sum("frames")} frames, ${sum("peerDeltas")} deltas of other processes, ` +
      `${sum("drops")} dropped streams, ${sum("answers")} answers, ${sum("steers")} steers, ${sum("aborts")} aborts; ` +
      `servers ${died}; ${failures.length} failed`,
  );
  process.exitCode = failures.length > 0 ? 1 : 0;
}

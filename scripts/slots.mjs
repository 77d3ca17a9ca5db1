/**
 * Whether each slot of a schedule, each sleep and each signal happens once while workers are killed and stopped, and how late they are.
 *
 *     npm run slots                             60 seconds on a SQLite file, 3 workers, a seed drawn at random
 *     npm run slots -- --store postgres --seconds 600 --seed 7
 *     npm run slots -- --store postgres --skew 0   clocks that agree: measures how late everything is, as on SQLite
 *     npm run slots -- --beside FOLDER          a worker of an earlier version too: FOLDER is the `dist` of its build
 *
 * The run of a slot acts, sleeps for 1 to 10 seconds and waits for a signal, which is sent at a random time; a third of them twice.
 * Meanwhile schedules are edited, paused, resumed and removed, and one worker after the other is killed (`kill -9`) or stopped for up to 17
 * seconds. On PostgreSQL, the clocks of the workers differ by up to two minutes in either direction (`--skew`, in seconds). The processes
 * of a SQLite file are on one machine, which has one clock. A slot may be counted as missed only if enough newer slots were due to run in
 * its place. A seed fixes what happens, not how it interleaves.
 */
import { randomInt } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import process from "node:process";
import { setTimeout as pause } from "node:timers/promises";
import { parseArgs } from "node:util";
import { createClient, createSchedules } from "pawl";
import { migrate } from "pawl/postgres";
import { createRandom } from "./chaos/random.mjs";
import { openPlace } from "./chaos/store.mjs";
import { postgresPrograms, startPostgres } from "./postgres/server.mjs";
import { checkSession, checkSlots } from "./slots/check.mjs";
import { createCrew, startEarlier } from "./slots/crew.mjs";
import { createEdits, everyMs, retryBusy } from "./slots/edits.mjs";

const { values } = parseArgs({
  options: {
    seconds: { type: "string", default: "60" },
    workers: { type: "string", default: "3" },
    skew: { type: "string" },
    store: { type: "string", default: "sqlite" },
    beside: { type: "string" },
    seed: { type: "string", default: String(randomInt(2 ** 31)) },
  },
});
values.skew ??= values.store === "postgres" ? "120" : "0";
const [seconds, count, skew, seed] = ["seconds", "workers", "skew", "seed"].map((name) => Number(values[name]));
const areNumbers = [seconds, count, skew, seed].every(Number.isSafeInteger);
const isKnown = values.store === "postgres" || (values.store === "sqlite" && skew === 0);
if (!areNumbers || seconds < 1 || count < 1 || skew < 0 || !isKnown) {
  console.error(
    "Usage: npm run slots -- [--store sqlite|postgres] [--seconds N] [--workers N] [--skew SECONDS] [--beside FOLDER] [--seed N]",
  );
  process.exit(2);
}
if (values.store === "postgres" && postgresPrograms() === null) {
  console.error("It needs PostgreSQL (apt-get install postgresql), on Debian. Nothing was tested.");
  process.exit(process.env.CI === undefined ? 0 : 1);
}

const mostFailures = 10;
/** How long the runs may take to end after the last kill, in milliseconds. */
const restMs = 180_000;
/** How far a worker's clock may be ahead of the clock of the PostgreSQL server, which is this machine's, in milliseconds. */
const maxAheadMs = 1_000;
/** A store keeps the outcomes of 1,000 slots, so they are read in between. */
const collectMs = 60_000;
const folder = mkdtempSync(join(tmpdir(), "pawl-slots-"));
const journal = join(folder, "journal");
const failures = [];
const fail = (what) => failures.push(what);
writeFileSync(journal, "");

const server = values.store === "postgres" ? await startPostgres() : null;
const place = server === null ? { path: join(folder, "sessions.db") } : { url: server.url, listenUrl: server.url };
const earlier =
  values.beside === undefined ? null : await startEarlier({ dist: resolve(values.beside), place, journal }, fail);
// As in a rolling deploy: the tables are changed while the earlier version works. A SQLite file is changed when it is opened.
if (earlier !== null && server !== null) await migrate({ url: server.url });
const store = await openPlace(place);
const schedules = createSchedules({ store });
const startedAt = performance.now();
const isOver = () => performance.now() - startedAt > seconds * 1_000 || failures.length >= mostFailures;
// A slot of all schedules, on a whole second.
const from = Math.ceil(Date.now() / 10_000) * 10_000;
const rows = new Map(Object.keys(everyMs).map((id) => [id, new Map()]));
const signals = { sent: new Set(), twice: 0 };
let servedByEarlier = 0;

const edits = createEdits({ schedules, seed, from });
await edits.begin();
const crew = createCrew({ count, seed, place, journal, skewMs: skew * 1_000, fail });
await Promise.all([crew.disturb(isOver), edits.run(isOver), sendSignals(), collect()]);
const ends = await edits.end();
await earlier?.end();
await crew.rest();
await collectRows();
const sessionIds = await listSessions();
await Promise.all(sessionIds.map((sessionId) => send(sessionId)));
await comeToRest();
await crew.end();
const late = await checkAll();
if (earlier !== null && servedByEarlier === 0) fail("the worker of the earlier version served nobody");
for (const problem of await store.verify()) fail(`the store is damaged: ${JSON.stringify(problem)}`);
await store.close();
await server?.close();
const lines = readFileSync(journal, "utf8").trim().split("\n");
if (failures.length === 0) rmSync(folder, { recursive: true });
report();

/** A signal for each slot, whether it runs or not: before the wait, while it is open, or after the run was to end. */
async function sendSignals() {
  const random = createRandom(seed, "signals");
  const sending = new Set();
  for (let slot = from; !isOver(); slot += 1_000) {
    await pause(Math.max(0, slot - Date.now()));
    for (const [id, every] of Object.entries(everyMs)) {
      const isTwice = random.isTrue(1 / 3);
      const afterMs = random.whole(0, 15_000);
      if ((slot - from) % every !== 0) continue;
      const sent = pause(afterMs)
        .then(() => send(`${id}@${new Date(slot).toISOString()}`, isTwice))
        .finally(() => sending.delete(sent));
      sending.add(sent);
    }
  }
  await Promise.all(sending);
}

async function send(sessionId, isTwice = false) {
  if (signals.sent.has(sessionId)) return;
  signals.sent.add(sessionId);
  if (isTwice) signals.twice += 1;
  for (let times = 0; times < (isTwice ? 2 : 1); times += 1)
    await retryBusy(() => createClient({ store }).signal(sessionId, null, { id: `paid ${sessionId}` }));
}

async function collect() {
  for (let since = performance.now(); !isOver(); await pause(1_000)) {
    if (performance.now() - since < collectMs) continue;
    since = performance.now();
    await collectRows();
  }
}

/** Keeps the outcomes by schedule. Those of `removed` go with it. */
async function collectRows() {
  for (const id of ["steady", "edited"]) {
    const found = await schedules.slots(id, { limit: 1_000 });
    for (const { slot } of found)
      if (slot > Date.now() + maxAheadMs)
        fail(`${id}: the slot ${new Date(slot).toISOString()} was handled before its time`);
    const keys = found.map((row) => JSON.stringify(row));
    for (const [index, key] of keys.entries()) {
      if (keys.indexOf(key) !== index) fail(`${id}: the store has an outcome twice: ${key}`);
      rows.get(id).set(key, found[index]);
    }
  }
}

async function listSessions() {
  const ids = [];
  let after;
  for (;;) {
    const page = await store.list({ limit: 500, ...(after === undefined ? {} : { after }) });
    ids.push(...page.map(({ sessionId }) => sessionId));
    after = page.at(-1);
    if (page.length < 500) return ids;
  }
}

async function comeToRest() {
  const until = performance.now() + restMs;
  for (const sessionId of sessionIds)
    for (;;) {
      const status = (await store.describe(sessionId))?.status;
      if (status === "completed") break;
      if (performance.now() > until) {
        fail(`${sessionId} is ${status}`);
        break;
      }
      await pause(100);
    }
}

async function checkAll() {
  const lates = { posted: [], acted: [], woken: [] };
  const times = new Map();
  for (const sessionId of sessionIds) {
    const measured = await checkSession(store, sessionId, fail);
    if (measured === undefined) continue;
    times.set(sessionId, measured);
    if (measured.late === null) servedByEarlier += 1;
    else lates.woken.push(measured.late);
  }
  const known = new Set(sessionIds.filter((sessionId) => sessionId.startsWith("removed@")));
  for (const id of ["steady", "edited"]) {
    const all = [...rows.get(id).values()];
    const slots = all.filter(({ outcome }) => outcome !== "manual");
    checkSlots(slots, { id, from, to: ends[id], gaps: edits.gaps[id], fail });
    for (const { sessionId } of all) if (sessionId !== undefined) known.add(sessionId);
    for (const { slot, at, outcome, sessionId } of slots) {
      if (outcome !== "posted") continue;
      if (!times.has(sessionId)) fail(`${id}: the run of ${new Date(slot).toISOString()} is not in the store`);
      else lates.acted.push(times.get(sessionId).acted - slot);
      lates.posted.push(at - slot);
    }
  }
  for (const sessionId of sessionIds) if (!known.has(sessionId)) fail(`${sessionId} belongs to no slot`);
  checkRemoved(new Set(sessionIds));
  return lates;
}

/** A slot may be lost with the schedule if it was removed before a worker fired the slot. */
function checkRemoved(ids) {
  const last = edits.gaps.removed.at(-1)?.until ?? from;
  for (let slot = from; slot <= ends.removed; slot += everyMs.removed) {
    const sessionId = `removed@${new Date(slot).toISOString()}`;
    if (slot > last && !ids.has(sessionId)) fail(`${sessionId} neither ran nor was removed`);
  }
}

function report() {
  const format = (times) => {
    const sorted = times.toSorted((a, b) => a - b);
    const at = (share) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))];
    return `${at(0.5)}, ${at(0.99)}, ${sorted.at(-1)}`;
  };
  const outcomes = [...rows.values()].flatMap((byKey) => [...byKey.values()]);
  const missed = outcomes.reduce((sum, { outcome, count = 1 }) => sum + (outcome === "missed" ? count : 0), 0);
  const done = { ...crew.counts, ...edits.counts };
  for (const failure of failures.slice(0, mostFailures)) console.error(failure);
  if (failures.length > 0 && server === null) console.error(`The store is kept: ${folder}`);
  console.log(
    `Seed ${seed}, ${values.store}: ${Object.entries(done)
      .map(([what, times]) => `${times} ${what}`)
      .join(
        ", ",
      )}; ${sessionIds.length} runs, ${missed} slots missed, ${signals.sent.size} signals, ${signals.twice} of them twice; ` +
      (earlier === null ? "" : `${servedByEarlier} runs served by the earlier version; `) +
      `steps that ran again after a kill: ${lines.length - new Set(lines).size}; ` +
      (skew === 0
        ? `late by (p50, p99, most) ms: posted ${format(late.posted)}, acted ${format(late.acted)}, woken ${format(late.woken)}; `
        : "") +
      `${failures.length} failed`,
  );
  process.exitCode = failures.length > 0 ? 1 : 0;
}

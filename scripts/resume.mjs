/**
 * Streams that go on where they were cut, over server processes that die: each seed is a session on two or three processes
 * with one SQLite file, and three watchers of it. One is never cut, one between any two frames, one after any byte. The
 * processes are killed (SIGKILL) at a commit, or drained; calls wait for approvals, models fail and try again, conversations
 * are compacted. In the end each watcher has the events of the log, and its text is what was said.
 *
 *     npm run resume                              1,000 seeds, or as many as fit into 45 seconds
 *     npm run resume -- --seeds 5000 --seconds 900
 *     npm run resume -- --from 17 --seeds 1       seed 17 alone
 *
 * A seed fixes what is said, what is called, and where each connection is cut. When a process dies depends on what else is
 * committed there.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { isDeepStrictEqual, parseArgs } from "node:util";
import { createClient as createStoreClient } from "pawl";
import { openSqliteStore } from "pawl/sqlite";
import { checkJournal } from "./chaos/check.mjs";
import { createClient } from "./chaos/client.mjs";
import { createPlaces } from "./chaos/places.mjs";
import { createRandom } from "./chaos/random.mjs";
import { watchCut } from "./chaos/watcher.mjs";

const { values } = parseArgs({
  options: {
    seeds: { type: "string", default: "1000" },
    from: { type: "string", default: "1" },
    seconds: { type: "string", default: "45" },
  },
});
const [seeds, from, seconds] = ["seeds", "from", "seconds"].map((name) => Number(values[name]));
if (![seeds, from, seconds].every(Number.isSafeInteger) || seeds < 1 || seconds < 1) {
  console.error("Usage: npm run resume -- [--seeds N] [--from N] [--seconds N]");
  process.exit(2);
}

/** Sessions that are tried at the same time, on one set of processes. */
const atOnce = 8;
const mostFailures = 5;
const token = "a-token-of-the-resume-test-alone";
const failures = [];
/** What a stream has to get over, on two processes and on three. */
const expected = ["snapshot", "attempt_failed", "approval_answered", "compacted", "restarted", "live"];
const tried = { seeds: 0, events: 0, cuts: 0 };
/** What the watchers saw, by the number of processes. */
const typesAt = new Map([2, 3].map((count) => [count, new Set()]));
/** A few seeds do not come to everything. */
const seedsAt = new Map([2, 3].map((count) => [count, 0]));
const startedAt = performance.now();
let next = from;

const isOver = () =>
  next >= from + seeds || performance.now() - startedAt > seconds * 1_000 || failures.length >= mostFailures;
const ends = await Promise.all([2, 3].map(tryProcesses));
report();

/** So many processes, on a file of their own. */
async function tryProcesses(count) {
  const folder = mkdtempSync(join(tmpdir(), "pawl-resume-"));
  const path = join(folder, "sessions.db");
  const journal = join(folder, "journal");
  writeFileSync(journal, "");
  const store = await openSqliteStore({ path });
  const before = failures.length;
  const fail = (what) => failures.push(`${count} processes: ${what}`);
  const given = { count, place: { path }, journal, seed: from, token, commits: [20, 120], fail, onCommit() {} };
  const places = await createPlaces(given);
  const world = { count, ports: places.ports, token, sessions: new Set(), fail };
  await Promise.all(Array.from({ length: atOnce }, () => trySeeds(world, store, fail)));
  checkJournal(readFileSync(journal, "utf8").trim().split("\n"), fail);
  await places.end();
  await store.close();
  if (failures.length === before) rmSync(folder, { recursive: true });
  else console.error(`The store is kept: ${folder}`);
  return places.ends;
}

async function trySeeds(world, store, fail) {
  while (!isOver()) {
    const seed = next;
    next += 1;
    try {
      await trySeed(seed, world, store);
      tried.seeds += 1;
      seedsAt.set(world.count, seedsAt.get(world.count) + 1);
    } catch (error) {
      fail(`seed ${seed}: ${error.message}. Try it again: npm run resume -- --from ${seed} --seeds 1`);
    }
  }
}

async function trySeed(seed, world, store) {
  const client = createClient({ seed, index: 0, world, isOver });
  const [sessionId, runId] = [`seed-${seed}`, `seed-${seed}-r`];
  const begun = await client.ask(
    "POST",
    "/v1/sessions",
    { agent: "chaos", input: "Go.", sessionId },
    { "idempotency-key": runId },
  );
  if (begun?.status !== 201) throw new Error(`it could not begin: ${JSON.stringify(begun)}`);
  const answering = createAnswering(client, sessionId, createRandom(seed, "answers"));
  const watched = await Promise.all(
    ["none", "frames", "bytes"].map((cuts) => {
      const random = createRandom(seed, "watcher", cuts);
      // The servers' words go by the seed of their life, the same for all sessions.
      const given = { random, ports: world.ports, token, seed: from, sessionId, runId, cuts, onQuestion: answering };
      return watchCut(given).catch((error) => {
        throw new Error(`the watcher with cuts "${cuts}": ${error.message}`);
      });
    }),
  );
  const log = [];
  for await (const event of createStoreClient({ store }).session(sessionId).events({ follow: false, runId }))
    log.push(JSON.parse(JSON.stringify(event)));
  for (const [index, { events, cuts, types }] of watched.entries()) {
    const differs = log.findIndex((event, at) => !isDeepStrictEqual(events[at], event));
    if (differs >= 0 || events.length !== log.length)
      throw new Error(
        `watcher ${index} has other events than the log, which has ${log.length} of them; it has ${events.length}. ` +
          `The first that differs: ${JSON.stringify(events[differs] ?? events[log.length])}, in the log: ${JSON.stringify(log[differs])}`,
      );
    tried.cuts += cuts;
    for (const type of types) typesAt.get(world.count).add(type);
  }
  tried.events += log.length;
}

/** Answers what waits, once for all watchers. */
function createAnswering(client, sessionId, random) {
  let isAsking = false;
  let asksAgain = false;
  return async () => {
    asksAgain = true;
    if (isAsking) return;
    isAsking = true;
    while (asksAgain) {
      asksAgain = false;
      const found = await client.ask("GET", `/v1/sessions/${sessionId}`);
      for (const asked of found?.json?.waiting ?? []) await client.give({ sessionId, ...asked }, random.isTrue(0.8));
    }
    isAsking = false;
  };
}

function report() {
  for (const [count, types] of typesAt) {
    const missing = expected.filter((type) => !types.has(type));
    if (seedsAt.get(count) >= 50 && missing.length > 0)
      failures.push(`${count} processes: no watcher saw ${missing.join(", ")}.`);
  }
  for (const failure of failures.slice(0, mostFailures)) console.error(failure);
  const died = Object.keys(ends[0]).map((how) => `${ends.reduce((sum, each) => sum + each[how], 0)} ${how}`);
  console.log(
    `Seeds ${from} to ${next - 1}: ${tried.seeds} passed (${seedsAt.get(2)} with 2 processes, ${seedsAt.get(3)} with 3), ${tried.events.toLocaleString("en")} events three times, ${tried.cuts.toLocaleString("en")} cuts; ` +
      `processes ${died.join(", ")}; ${failures.length} failed`,
  );
  process.exitCode = failures.length > 0 ? 1 : 0;
}

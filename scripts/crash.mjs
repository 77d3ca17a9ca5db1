/**
 * The figures of docs/reliability.md, measured: `npm run crash`, about half an hour on two processors.
 *
 *     npm run crash                    crashes at every await and every pair of commits, 20,000 seeds, kill -9 at every commit
 *     npm run crash -- --seeds 2000    fewer seeds
 *     npm run crash -- --json          the figures as JSON
 *     npm run crash -- --write         also writes them into docs/reliability.md
 *     npm run soak                     1,000,000 seeds, sampled triples of crashes and 1,000 random kills too: hours
 *     npm run soak -- --triples 1000   fewer triples of each scenario: 5,000 unless told otherwise, and 250 on PostgreSQL
 *     npm run soak -- --write          also writes its figures into docs/reliability.md, those of each Node in a place of their own
 *
 * On memory, on SQLite, and on a PostgreSQL server of its own, if PostgreSQL is installed. The last two get fewer seeds.
 *
 * What is done is kept in `temp`, for this code and this Node. So one that was stopped goes on where it was, and each of the two commands
 * takes over what the other has done.
 *
 * Fails where anything did not hold, and prints what happened then.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { parseArgs } from "node:util";
import { Worker } from "node:worker_threads";
import { compileSimulation } from "./compile-simulation.mjs";
import { hashOfCode, openKeptJobs } from "./kept-jobs.mjs";
import { postgresPrograms, startPostgres } from "./postgres/server.mjs";

compileSimulation();
const { scenarios } = await import("../temp/simulation/test/simulation/scenarios/scenarios.js");

const page = "docs/reliability.md";
const hasPostgres = postgresPrograms() !== null;
if (!hasPostgres)
  console.error("PostgreSQL is not installed, so it is left out. On Debian: apt-get install postgresql");
const stores = ["memory", "SQLite", ...(hasPostgres ? ["PostgreSQL"] : [])];
/**
 * A seed takes longer on a disk and on a server, and what it finds is mostly not the store's. So there is one seed for each `apart` on
 * memory, and `most` is the largest number. Crashes at every await are played on each store.
 */
const seedsOn = {
  memory: { apart: 1, most: Number.POSITIVE_INFINITY },
  SQLite: { apart: 20, most: 10_000 },
  PostgreSQL: { apart: 100, most: 2_000 },
};
/** Likewise: of more pairs, so many of a scenario are drawn. A play on a server takes 0.1 to 0.2 s. */
const mostPairs = 200;
const mostFailures = 3;
const seedsInJob = 100;
/** A store keeps the sessions of all plays of a job, and thousands of the largest scenario fill the memory. */
const samplesInJob = 250;
/** The tools of the reference scenarios, and those of the program that is killed. */
const ways = {
  look: "`rerun`, it only reads",
  keyed: "`rerun`, with a key that is honored",
  once: "`fail`",
  alone: "`rerun`, without a key",
  traceable: "`reconcile`",
  broken: "`fail`",
  forbidden: "– (never runs)",
  guarded: "`fail`, after an approval",
  questioned: "`fail`, after an approval",
  outside: "– (runs elsewhere)",
  unsure: "`ask`: a person says *run again*",
  flaky: "`rerun`, fails twice",
  hopeless: "`rerun`, always fails",
  stepped: "`durable`: its steps are stored",
  persistent: "`durable`, fails now and then",
  asking: "`durable`, asks a person",
  holding: "`rerun`, asks a person",
  delegate: "an agent with its own session",
  transfer_to_agent: "a handoff: no code runs",
  transfer_to_agent_twin: "a handoff: no code runs",
  slow: "`rerun`, aborted while it runs",
};

const killedWays = {
  look: "`rerun`, it only reads",
  charge: "`fail`",
  book: "`rerun`, with a key that is honored",
  trace: "`reconcile`",
};

const { values: options } = parseArgs({
  options: {
    seeds: { type: "string" },
    triples: { type: "string" },
    threads: { type: "string", default: String(availableParallelism()) },
    soak: { type: "boolean", default: false },
    json: { type: "boolean", default: false },
    write: { type: "boolean", default: false },
  },
});
const threads = Number(options.threads);
const seeds = Number(options.seeds ?? (options.soak ? 1_000_000 : 20_000));
const samples = Number(options.triples ?? 5_000) / samplesInJob;
const isIgnored = options.triples !== undefined && !options.soak;
if (![seeds, threads, samples].every(Number.isSafeInteger) || seeds < 20 || threads < 1 || samples < 1 || isIgnored) {
  console.error(
    `Usage: npm run crash -- [--seeds N] [--threads N] [--json] [--write]; 20 seeds or more.
       npm run soak -- [--triples N] and the same; a multiple of ${samplesInJob}.`,
  );
  process.exit(2);
}

const startedAt = performance.now();
const done = await runAll(jobsOf());
const figures = figuresOf(done);
const seconds = Math.round((performance.now() - startedAt) / 1000);
if (options.json) console.log(JSON.stringify({ node: process.version, seconds, ...figures }, null, 2));
else console.log(`${textOf(figures)}\n\n${seconds} s`);
if (options.write) writePage(options.soak ? tableOf(figures) : textOf(figures));
for (const { message } of figures.failures.slice(0, mostFailures)) console.error(`\n${message}`);
process.exitCode = figures.failures.length > 0 ? 1 : 0;

/** The long ones first. */
function jobsOf() {
  const jobs = [{ kind: "kill", store: "SQLite", kills: "commits" }];
  for (const store of stores.slice(1))
    if (options.soak) jobs.push({ kind: "kill", store, kills: { random: 1_000 } });
    else if (store === "PostgreSQL") jobs.push({ kind: "kill", store, kills: { random: 20 } });
  for (const store of stores.toReversed())
    for (const sweep of ["pairs", "waits"])
      for (const scenario of scenarios.keys())
        jobs.push({ kind: "sweep", store, sweep, scenario, ...(store === "PostgreSQL" ? { mostPairs } : {}) });
  jobs.push({ kind: "damage", store: "SQLite", count: options.soak ? 20_000 : 500, seed: 1 });
  if (options.soak)
    for (const store of stores)
      for (const scenario of scenarios.keys())
        for (let seed = 1; seed <= (store === "PostgreSQL" ? 1 : samples); seed += 1)
          jobs.push({ kind: "sample", store, scenario, count: samplesInJob, seed });
  for (const store of stores.toReversed()) {
    const { apart, most } = seedsOn[store];
    const count = Math.min(Math.ceil(seeds / apart), most);
    for (let from = 1; from <= count; from += seedsInJob)
      jobs.push({ kind: "seeds", store, from, until: Math.min(from + seedsInJob, count + 1) });
  }
  return jobs;
}

/** Gives the jobs out to threads: one for each processor, unless told otherwise. */
async function runAll(jobs) {
  const code = hashOfCode("scripts/crash-jobs.mjs", "test/fixtures/paying-agent.mjs");
  const file = `temp/crash-${process.version}.jsonl`;
  const kept = openKeptJobs(file, code);
  const finished = jobs.flatMap((job) => kept.answerOf(job) ?? []);
  const waiting = jobs.filter((job) => kept.answerOf(job) === undefined);
  if (finished.length > 0)
    console.error(`${finished.length} of ${jobs.length} parts were done before. Delete ${file} to run them again.`);
  // A signal alone would end the process without its handlers of "exit", and these end the server.
  for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => process.exit(1));
  const server = hasPostgres ? await startPostgres(["fsync=off", "max_connections=50"]) : null;
  const workOff = async () => {
    const worker = new Worker(new URL("crash-jobs.mjs", import.meta.url), { workerData: { url: server?.url } });
    for (let job = waiting.shift(); job !== undefined; job = waiting.shift()) {
      const answer = await answerOf(worker, job);
      kept.keep(answer);
      finished.push(answer);
      if (process.stderr.isTTY) process.stderr.write(`\r${finished.length} of ${jobs.length} parts done `);
    }
    await worker.terminate();
  };
  try {
    await Promise.all(Array.from({ length: Math.min(threads, waiting.length) }, workOff));
  } finally {
    await server?.close();
  }
  if (process.stderr.isTTY) process.stderr.write("\r\u001b[K");
  return finished;
}

function answerOf(worker, job) {
  return new Promise((resolve, reject) => {
    worker.once("error", reject);
    worker.once("message", (answer) => {
      worker.off("error", reject);
      resolve(answer);
    });
    worker.postMessage(job);
  });
}

function figuresOf(done) {
  const figures = {};
  for (const store of stores) {
    const of = (kind, fits = () => true) =>
      done.filter(({ job }) => job.store === store && job.kind === kind && fits(job)).map(({ result }) => result);
    const failures = done.filter(({ job }) => job.store === store).flatMap(({ result }) => result.failures);
    figures[store] = {
      crashes: countOf(of("sweep", ({ sweep }) => sweep === "waits")),
      pairs: countOf(of("sweep", ({ sweep }) => sweep === "pairs")),
      triples: countOf(of("sample")),
      seeds: sumOf(of("seeds"), ["seeds", "commits", "kills", "stops"]),
      killed: sumOf(of("kill"), ["kills"]).kills,
      flippedBytes: sumOf(of("damage"), ["copies", "told", "same"]),
      lostEvents: brokenIn(failures, 1, 11),
      orphanCalls: brokenIn(failures, 4),
      duplicateEffects: brokenIn(failures, 5),
      undetectedCorruption: sumOf(of("damage"), ["silent"]).silent,
      otherFailures: failures.length - brokenIn(failures, 1, 4, 5, 11),
    };
  }
  return {
    stores: figures,
    unpromised: {
      simulated: talliesOf(done, "sweep"),
      killed: talliesOf(done, "kill"),
    },
    failures: done.flatMap(({ result }) => result.failures),
  };
}

/** How many plays there were, and in how many everything held. */
function countOf(results) {
  const { plays } = sumOf(results, ["plays"]);
  return { plays, held: plays - results.reduce((sum, { failures }) => sum + failures.length, 0) };
}

function sumOf(results, keys) {
  return Object.fromEntries(keys.map((key) => [key, results.reduce((sum, result) => sum + (result[key] ?? 0), 0)]));
}

function brokenIn(failures, ...invariants) {
  return failures.filter(({ invariant }) => invariants.includes(invariant)).length;
}

function talliesOf(done, kind) {
  const tally = {};
  for (const { job, result } of done)
    if (job.kind === kind)
      for (const what of ["repeated", "unknown"])
        for (const [tool, count] of Object.entries(result[what] ?? {})) {
          tally[tool] ??= { repeated: 0, unknown: 0 };
          tally[tool][what] += count;
        }
  return tally;
}

function textOf(figures) {
  return `${tableOf(figures)}\n\n${unpromisedOf(figures)}`;
}

function tableOf({ stores: figures }) {
  const row = (name, cell) => `| ${name} | ${stores.map((store) => cell(figures[store])).join(" | ")} |`;
  const of = ({ plays, held }) => (plays === 0 ? "–" : `${number(held)} of ${number(plays)}`);
  return [
    `| Node ${process.versions.node} | ${stores.map((store) => (store === "SQLite" ? sqliteName() : store)).join(" | ")} |`,
    `|---|${stores.map(() => "---|").join("")}`,
    row(`one crash, at every await of ${scenarios.length} scenarios, including every commit`, ({ crashes }) =>
      of(crashes),
    ),
    row(
      "two crashes, at every pair of commits; in the two largest scenarios, at 100 pairs each; on PostgreSQL, at most 200 of each",
      ({ pairs }) => of(pairs),
    ),
    ...(options.soak ? [row("three crashes, sampled", ({ triples }) => of(triples))] : []),
    row("seeds with crashes, failures and zombies", ({ seeds: { seeds, kills, stops } }) =>
      [number(seeds), `(${number(kills)} kills, ${number(stops)} processes stopped past their lease)`].join(" "),
    ),
    row("real `kill -9` of a program", ({ killed }) => (killed === 0 ? "–" : number(killed))),
    row("files with a changed byte: harmless, reported", ({ flippedBytes: { copies, same, told } }) =>
      copies === 0 ? "–" : `${number(copies)}: ${number(same)}, ${number(told)}`,
    ),
    row("**lost events**", ({ lostEvents }) => lostEvents),
    row("**orphan calls**", ({ orphanCalls }) => orphanCalls),
    row("**duplicate keyed effects**", ({ duplicateEffects }) => duplicateEffects),
    row("**undetected corruption**", ({ undetectedCorruption }) => undetectedCorruption),
    row("any other failure", ({ otherFailures }) => otherFailures),
  ].join("\n");
}

function unpromisedOf({ unpromised }) {
  return [
    "What cannot be promised, in the same scenarios: how often a call was started again, and how often its outcome is unknown.",
    "",
    "| tool | recovers by | started again | unknown |",
    "|---|---|---|---|",
    ...Object.entries(unpromised.simulated).map(([tool, tally]) => tallyRow(tool, ways[tool], tally)),
    ...Object.entries(unpromised.killed).map(([tool, tally]) =>
      tallyRow(`${tool} (real kills)`, killedWays[tool], tally),
    ),
  ].join("\n");
}

function tallyRow(tool, way = "", { repeated, unknown }) {
  return `| ${tool} | ${way} | ${number(repeated)} | ${number(unknown)} |`;
}

function sqliteName() {
  const isBuiltIn = process.getBuiltinModule?.("node:sqlite") !== undefined;
  return isBuiltIn ? "SQLite (`node:sqlite`)" : "SQLite (`libsql`)";
}

function number(value) {
  return value.toLocaleString("en");
}

function writePage(text) {
  const before = readFileSync(page, "utf8");
  const [major] = process.versions.node.split(".");
  const command = options.soak ? `npm run soak -- --write, Node ${major}` : "npm run crash -- --write";
  const [mark, endMark] = [`<!-- figures: ${command} -->`, "<!-- end of figures -->"];
  const start = before.indexOf(mark);
  const end = before.indexOf(endMark, start);
  if (start < 0 || end < 0) throw new Error(`${page} has no place for the figures: ${mark} … ${endMark}`);
  writeFileSync(page, `${before.slice(0, start + mark.length)}\n\n${text}\n\n${before.slice(end)}`);
}

/**
 * Simulations of the driver in `src`, one for each seed: `npm run simulate`. It needs no build.
 *
 *     npm run simulate -- --seeds 20000       seeds 1 to 20,000, on all processors
 *     npm run simulate -- --from 5 --seeds 1  seed 5 alone; its failure prints what happened
 *     npm run simulate -- --seed 5            the same
 *     npm run simulate -- --seed 5 --lines 500  with more lines of its story
 *
 * Prints the first failures, with the command that repeats each, and what was covered.
 */
import { availableParallelism } from "node:os";
import { parseArgs } from "node:util";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";
import { compileSimulation } from "./compile-simulation.mjs";

const mostFailures = 3;

if (isMainThread) {
  compileSimulation();
  await main();
} else parentPort.postMessage(await simulateAll(workerData));

async function main() {
  const { values } = parseArgs({
    options: {
      seeds: { type: "string", default: "1000" },
      from: { type: "string", default: "1" },
      seed: { type: "string" },
      lines: { type: "string", default: "80" },
    },
  });
  const from = Number(values.seed ?? values.from);
  const seeds = values.seed === undefined ? Number(values.seeds) : 1;
  const storyLines = Number(values.lines);
  if (![from, seeds, storyLines].every(Number.isSafeInteger) || seeds < 1 || storyLines < 1) {
    console.error("Usage: npm run simulate -- [--seeds N] [--from N] [--seed N] [--lines N]");
    process.exit(2);
  }
  const threads = Math.min(availableParallelism(), seeds);
  const startedAt = Date.now();
  const parts = await Promise.all(
    Array.from({ length: threads }, (_, thread) =>
      inThread({ from: from + thread, until: from + seeds, every: threads, storyLines }),
    ),
  );
  const failures = parts.flatMap((part) => part.failures);
  const sum = (key) => parts.reduce((total, part) => total + part.covered[key], 0).toLocaleString("en");
  for (const failure of failures.slice(0, mostFailures)) console.error(`${failure}\n`);
  const seconds = (Date.now() - startedAt) / 1000;
  console.log(
    `${seeds.toLocaleString("en")} seeds from ${from}: ${sum("commits")} commits, ${sum("modelCalls")} model calls, ${sum("toolCalls")} tool calls, ` +
      `${sum("children")} child sessions, ${sum("kills")} kills, ${sum("stops")} stopped processes, ${sum("sleeps")} sleeps, ${sum("waits")} waits for ` +
      `${sum("signals")} signals, ${sum("fires")} schedules and delayed messages fired; ${failures.length} failed; ${Math.round(seeds / seconds)} seeds a second`,
  );
  process.exitCode = failures.length > 0 ? 1 : 0;
}

function inThread(data) {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL(import.meta.url), { workerData: data });
    worker.once("message", resolve);
    worker.once("error", reject);
  });
}

async function simulateAll({ from, until, every, storyLines }) {
  const { simulate } = await import("../temp/simulation/test/simulation/simulate.js");
  const covered = {
    ...{ commits: 0, modelCalls: 0, toolCalls: 0, children: 0, kills: 0, stops: 0 },
    ...{ sleeps: 0, waits: 0, signals: 0, fires: 0 },
  };
  const failures = [];
  for (let seed = from; seed < until; seed += every) {
    try {
      const report = await simulate({ seed, storyLines });
      for (const key of Object.keys(covered)) covered[key] += report[key];
    } catch (error) {
      failures.push(error.message);
    }
  }
  return { covered, failures };
}

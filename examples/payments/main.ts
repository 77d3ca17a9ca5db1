/**
 * Payments, while their processes are killed at random: `npm run payments -- --kills 1000 --runs 100`.
 *
 * Runs make transfers at a bank over HTTP. Several processes work on them over one SQLite file, and are killed with
 * SIGKILL again and again. At the end the bank's ledger is compared with the orders. With idempotency keys each
 * transfer was booked once. Without keys the result depends on how the tool recovers, and the table has the counts.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { type Outcome, runCampaign } from "./campaign.js";
import { atOnce, type Plan } from "./plan.js";
import { failuresOf, tableOf } from "./report.js";
import { type Way, ways } from "./ways.js";

const { values } = parseArgs({
  options: {
    way: { type: "string", multiple: true, default: ["keys"] },
    kills: { type: "string", default: "12" },
    runs: { type: "string", default: "4" },
    processes: { type: "string", default: "3" },
    seed: { type: "string", default: "1" },
    json: { type: "boolean", default: false },
  },
});
const names = ways.map(({ name }) => name);
const kills = countOf(values.kills, 0);
const runs = countOf(values.runs, 1);
const processes = countOf(values.processes, 1);
const chosen = values.way.includes("all") ? ways : ways.filter(({ name }) => values.way.includes(name));
if (chosen.length === 0) stop();

const folder = mkdtempSync(join(tmpdir(), "pawl-payments-"));
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
// Enough transfers for each process to make some progress before it is killed.
const plan: Plan = { seed: values.seed, runs, steps: Math.max(4, Math.ceil((15 * kills) / runs / atOnce)) };
const outcomes: Outcome[] = [];
for (const way of chosen) outcomes.push(await tryOut(way));

console.log(values.json ? JSON.stringify(outcomes, null, 2) : tableOf(outcomes));
const failures = outcomes.flatMap(failuresOf);
for (const failure of failures) console.error(failure);
process.exit(failures.length > 0 ? 1 : 0);

async function tryOut(way: Way): Promise<Outcome> {
  const started = performance.now();
  let toldAt = 0;
  const outcome = await runCampaign({
    way,
    plan,
    kills,
    processes,
    folder,
    onProgress({ kills: killed, finished, results }) {
      if (performance.now() - toldAt < 5_000) return;
      toldAt = performance.now();
      const seconds = Math.round((toldAt - started) / 1_000);
      console.error(
        `${way.name}: ${seconds} s, ${killed} kills, ${results} results, ${finished} of ${runs} runs ended`,
      );
    },
  });
  console.error(`${way.name}: ${outcome.completed} of ${runs} runs completed after ${outcome.kills} kills`);
  return outcome;
}

function countOf(text: string, least: number): number {
  const count = Number(text);
  return Number.isSafeInteger(count) && count >= least ? count : stop();
}

function stop(): never {
  const options = "[--kills N] [--runs N] [--processes N] [--seed TEXT] [--json]";
  console.error(`Usage: npm run payments -- [--way ${names.join("|")}|all] ${options}`);
  process.exit(2);
}

/**
 * Tries one way to recover: several processes carry on runs over one SQLite file, and are killed at random. At the
 * end the ledger on disk is compared with the orders.
 */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { Store } from "pawl";
import { openSqliteStore } from "pawl/sqlite";
import { audit, type Findings } from "./audit.js";
import { startBank } from "./bank.js";
import { type Chance, createChance } from "./chance.js";
import { atOnce, type Plan, sessionsOf } from "./plan.js";
import type { Accept, Report, TellerOptions } from "./teller.js";
import type { Way } from "./ways.js";

export type CampaignOptions = {
  readonly way: Way;
  readonly plan: Plan;
  readonly kills: number;
  readonly processes: number;
  readonly folder: string;
  readonly onProgress: (progress: Progress) => void;
};

export type Progress = {
  readonly lives: number;
  readonly kills: number;
  readonly finished: number;
  readonly results: number;
};

export type Outcome = Findings & {
  readonly way: Way["name"];
  readonly kills: number;
  readonly seconds: number;
  /** Requests whose process died before it had an answer: before the bank had booked them, and after. */
  readonly cutOff: { readonly before: number; readonly after: number };
};

/** Runs that are under way for each process. */
const runsEach = 4;
/**
 * Pawl gives up a run that is restarted five times without progress, so that a request that kills its process does
 * not do so for ever. The killer lets every run make some progress before that.
 */
const mostIdleLives = 3;
const program = fileURLToPath(new URL("./teller.js", import.meta.url));

export async function runCampaign(options: CampaignOptions): Promise<Outcome> {
  const { way, plan, folder } = options;
  const startedAt = performance.now();
  const ledger = join(folder, `${way.name}.ledger`);
  const file = join(folder, `${way.name}.db`);
  const bank = await startBank({ file: ledger, honorsKeys: way.honorsKeys, seed: plan.seed });
  const store = await openSqliteStore({ path: file });
  try {
    const kills = await work({ ...options, store, teller: { file, bank: bank.url, way: way.name, plan } });
    // The bank books all requests that are under way before its books are closed.
    await bank.settled();
    const findings = await audit(store, ledger, plan);
    const seconds = Math.round((performance.now() - startedAt) / 1_000);
    return { way: way.name, kills, seconds, cutOff: bank.cutOff(), ...findings };
  } finally {
    await store.close();
    await bank.close();
  }
}

type WorkOptions = CampaignOptions & { readonly store: Store; readonly teller: Omit<TellerOptions, "life"> };

/** Keeps the processes alive, and kills them, until all runs have ended; gives the number of kills. */
async function work({ plan, kills, processes, onProgress, store, teller }: WorkOptions): Promise<number> {
  const chance = createChance(`${plan.seed}/killer`);
  const waiting = [...sessionsOf(plan)];
  const children = new Set<ChildProcess>();
  const ofRun = plan.steps * atOnce;
  const total = plan.runs * ofRun;
  /** The results are those in the store: many processes die before they report one. */
  const seen = { lives: 0, kills: 0, results: 0, finished: 0 };
  /** Restarts without progress, by run. */
  const idle = new Map<string, number>();
  const isAtRisk = () => [...idle.values()].some((lives) => lives >= mostIdleLives);
  let isOver = false;

  async function live(): Promise<void> {
    seen.lives += 1;
    const child = fork(program, [JSON.stringify({ ...teller, life: seen.lives })]);
    const unaccepted = new Set<string>();
    let resultsLeft = resultsBeforeDeath(chance, total - seen.results, kills - seen.kills);
    const order = () => {
      if (plan.runs - waiting.length - seen.finished >= processes * runsEach) return;
      const sessionId = waiting.shift();
      if (sessionId === undefined) return;
      unaccepted.add(sessionId);
      child.send({ accept: sessionId } satisfies Accept, () => {});
    };
    const die = async () => {
      resultsLeft = Number.POSITIVE_INFINITY;
      seen.kills += 1;
      await wait(chance.between(0, 40));
      child.kill("SIGKILL");
    };
    child.on("message", (report: Report) => {
      if (report.type === "accepted") unaccepted.delete(report.sessionId);
      if (report.type === "restarted") idle.set(report.sessionId, (idle.get(report.sessionId) ?? 0) + 1);
      if (report.type === "result" && report.isProgress) {
        idle.delete(report.sessionId);
        resultsLeft -= 1;
      }
      if (resultsLeft <= 0 && seen.kills < kills && !isAtRisk()) void die();
      else order();
    });
    children.add(child);
    const [code] = (await once(child, "exit")) as [number | null];
    children.delete(child);
    // The process may not have received an order: it is sent again, under the same name.
    waiting.unshift(...unaccepted);
    if (code !== null) throw new Error(`A process ended by itself, with code ${code}.`);
  }

  async function watch(): Promise<void> {
    while (seen.finished < plan.runs) {
      await wait(200);
      const ended = await store.list({ status: ["completed", "failed", "aborted"], limit: plan.runs });
      const active = await store.list({ status: ["preparing", "model_running", "tool_running"], limit: plan.runs });
      const states = await Promise.all(active.map(async ({ sessionId }) => (await store.load(sessionId))?.state));
      seen.finished = ended.length;
      seen.results = ended.length * ofRun;
      for (const state of states)
        if (state !== undefined && state.status !== "idle") seen.results += (state.modelCallIndex - 1) * atOnce;
      for (const { sessionId } of ended) idle.delete(sessionId);
      onProgress(seen);
    }
  }

  async function keepAlive(): Promise<void> {
    while (!isOver) await live();
  }

  const lives = Array.from({ length: processes }, keepAlive);
  try {
    await Promise.race([watch(), Promise.all(lives)]);
  } finally {
    isOver = true;
    for (const child of children) child.kill("SIGKILL");
  }
  await Promise.all(lives);
  return seen.kills;
}

/** How many results a process may commit before it dies: the kills are spread over the remaining work. */
function resultsBeforeDeath({ between }: Chance, workLeft: number, killsLeft: number): number {
  if (killsLeft <= 0) return Number.POSITIVE_INFINITY;
  return between(1, Math.max(1, Math.round(workLeft / killsLeft) - 1));
}

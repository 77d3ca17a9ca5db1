/**
 * Budgets for each customer: a run reserves what it may cost before its first model call, and pays what it did cost when
 * it has ended. A customer without money left is refused, whichever process asks.
 */
import assert from "node:assert/strict";
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { type Agent, createAgent, type Hook, type PriceTable } from "pawl";
import { openSqliteStore } from "pawl/sqlite";
import { createScriptedModel } from "pawl/testing";

/** What a run may cost at most. It is reserved, so that ten runs at once cannot spend the last dollar ten times. */
const mostUsdOfRun = 0.5;

/** Your accounts. In production: one table with a unique run id, and each function one statement. */
type Accounts = {
  /** False if the customer has less than that left. A run that is asked about again gets the same answer. */
  readonly reserve: (customer: string, runId: string, usd: number) => Promise<boolean>;
  /** Replaces the reservation of the run. Repeating it changes nothing. */
  readonly settle: (runId: string, usd: number) => Promise<void>;
};

function createBudgetHook(accounts: Accounts): Hook {
  return {
    name: "budget",
    onFailure: "closed", // if the accounts cannot be asked, nothing runs
    async beforeRun(_run, { principal: customer, runId }) {
      if (customer === undefined) return { refuse: "Nobody pays for this session." };
      if (await accounts.reserve(customer, runId, mostUsdOfRun)) return undefined;
      return { refuse: "The budget of this month is used up." };
    },
    /** It is called again if the process dies before the end of the run is committed. */
    async afterRun({ runId, usage }) {
      await accounts.settle(runId, usage.costUsd ?? 0);
    },
  };
}

/** A file in the place of your table. */
function openAccounts(path: string, monthlyUsd: number) {
  type Row = { readonly customer: string; readonly usd: number };
  const read = (): Record<string, Row> => (existsSync(path) ? JSON.parse(readFileSync(path, "utf8")) : {});
  const write = (runId: string, row: Row): void => {
    writeFileSync(`${path}.new`, JSON.stringify({ ...read(), [runId]: row }));
    renameSync(`${path}.new`, path);
  };
  const spent = (customer: string): number =>
    Object.values(read()).reduce((sum, row) => (row.customer === customer ? sum + row.usd : sum), 0);
  const accounts: Accounts = {
    async reserve(customer, runId, usd) {
      if (read()[runId] !== undefined) return true;
      if (spent(customer) + usd > monthlyUsd) return false;
      write(runId, { customer, usd });
      return true;
    },
    async settle(runId, usd) {
      const row = read()[runId];
      if (row !== undefined) write(runId, { ...row, usd });
    },
  };
  return { accounts, spent };
}

// The service.
const prices: PriceTable = { scripted: { input: 100, output: 100 } }; // dollars for a million tokens
const store = await openSqliteStore({ path: "sessions.db" });
const { accounts, spent } = openAccounts("accounts.json", 1.2);

function createService(whenAsked: () => Promise<void> = async () => {}): Agent {
  const model = createScriptedModel(() => ({
    text: "Here you are.",
    usage: { inputTokens: 3_000, outputTokens: 1_000 },
    wait: whenAsked(),
  }));
  return createAgent({
    name: "writer",
    model,
    store,
    hooks: [createBudgetHook(accounts)],
    limits: { maxCostUsd: mostUsdOfRun },
    usage: { prices },
  });
}
const usdOf = (customer: string) => spent(customer).toFixed(2);

// The check: a run costs 40 cents, and Acme has 1.20 dollars a month.
const agent = createService();
const first = await agent.run("A poem", { by: "acme", runId: "poem-1" });
assert.deepEqual([first.status, usdOf("acme")], ["completed", "0.40"]);

// A process dies in the middle of a run: the reservation stands, so nobody else can spend that money.
let asked = () => {};
const isAsked = new Promise<void>((resolve) => {
  asked = resolve;
});
const dying = createService(() => {
  asked();
  return new Promise(() => {});
});
const cut = dying.run("A longer poem", { by: "acme", runId: "poem-2", sessionId: "poems" });
await isAsked;
assert.equal(usdOf("acme"), "0.90");
await dying.shutdown({ graceMs: 0 });
assert.equal((await cut).status, "interrupted");
const refused = await agent.run("Another", { by: "acme" });
assert.equal(refused.status === "failed" && refused.error?.message, "The budget of this month is used up.");

// The next process ends the run, and the run pays what it cost.
assert.equal((await createService().session("poems").resume()).status, "completed");
assert.equal(usdOf("acme"), "0.80");

// Other customers have budgets of their own.
assert.equal((await agent.run("A poem", { by: "globex" })).status, "completed");
console.log(`Acme has spent ${usdOf("acme")}, Globex ${usdOf("globex")}.`);
await store.close();

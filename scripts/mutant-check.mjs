/**
 * One check on one copy of the compiled simulation: `node scripts/mutant-check.mjs FOLDER CHECK [STORE]`. When something does not hold, it
 * says what and ends with 1.
 */
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [folder, check, store = "memory"] = process.argv.slice(2);
const load = (file) => import(pathToFileURL(resolve(folder, file)).href);
const mostSeeds = 5_000;
const caseMs = 10_000;

const checks = { seeds, crashes, conformance };
process.on("unhandledRejection", fail);
await checks[check]().catch(fail);
process.exit(0);

function fail(error) {
  const [what] = String(error?.message ?? error).split("\n");
  console.log(what);
  process.exit(1);
}

async function seeds() {
  const { simulate } = await load("test/simulation/simulate.js");
  for (let seed = 1; seed <= mostSeeds; seed += 1) await simulate({ seed });
}

async function crashes() {
  const { scenarios } = await load("test/simulation/scenarios/scenarios.js");
  const { sweepScenario } = await load("test/simulation/scenarios/sweep.js");
  const { createMemoryStore } = await load("src/stores/memory/index.js");
  for (const scenario of scenarios) {
    const { failures } = await sweepScenario(scenario, createMemoryStore(), "waits");
    if (failures.length > 0) throw new Error(failures[0].message);
  }
}

async function conformance() {
  const { storeConformance } = await load("src/testing/store-conformance.js");
  const open =
    store === "memory"
      ? (await load("src/stores/memory/index.js")).createMemoryStore
      : async () => (await load("src/stores/sqlite/index.js")).openSqliteStore({ path: ":memory:" });
  const cases = storeConformance(async () => {
    const opened = await open();
    return { store: opened, close: () => opened.close() };
  });
  // Watching waits for what a broken store may never tell.
  for (const { name, run } of cases.filter((each) => !each.name.startsWith("watch:"))) {
    const tooLong = setTimeout(() => fail(new Error(`${name}: it never ends`)), caseMs);
    await run().catch((error) => fail(new Error(`${name}: ${error.message}`)));
    clearTimeout(tooLong);
  }
}

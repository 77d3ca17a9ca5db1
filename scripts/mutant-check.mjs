/**
 * One check on one build: `node scripts/mutant-check.mjs DIST CHECK [STORE]`. Ends with 1, and says why, as soon as something does not hold.
 */
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [dist, check, store = "memory"] = process.argv.slice(2);
const load = (file) => import(pathToFileURL(resolve(dist, file)).href);
const mostSeeds = 1_000;
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
  const { simulate } = await load("testing/simulation.js");
  for (let seed = 1; seed <= mostSeeds; seed += 1) await simulate({ seed });
}

async function crashes() {
  const { scenarios } = await load("testing/crash/reference.js");
  const { sweepScenario } = await load("testing/crash/reference-sweep.js");
  const { createMemoryStore } = await load("stores/memory/index.js");
  for (const scenario of scenarios) {
    const { failures } = await sweepScenario(scenario, createMemoryStore(), "waits");
    if (failures.length > 0) throw new Error(failures[0].message);
  }
}

async function conformance() {
  const { storeConformance } = await load("testing/store-conformance.js");
  const open =
    store === "memory"
      ? (await load("stores/memory/index.js")).createMemoryStore
      : async () => (await load("stores/sqlite/index.js")).openSqliteStore({ path: ":memory:" });
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

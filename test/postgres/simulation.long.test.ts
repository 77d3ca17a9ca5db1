/**
 * The simulation over a PostgreSQL store, in PGlite and over a server: the same worlds as over memory, with SQL in the place of a map.
 *
 * `PAWL_SEEDS=500 npx vitest run test/postgres/simulation.long.test.ts` runs more seeds; PAWL_SEED says which is the first.
 */
import pg from "pg";
import { describe, expect, onTestFinished, test } from "vitest";
import type { PostgresQuery } from "../../src/stores/postgres/index.js";
import { prepareSimulatedPostgres } from "../simulation/postgres.js";
import { simulate } from "../simulation/simulate.js";
import { resolveCheckTool } from "../support/check-tools.js";
import { hasPostgres, usePostgres } from "../support/postgres.js";
import { verifies } from "../verifies.js";

const first = Number(process.env.PAWL_SEED ?? 1);
const seeds = Number(process.env.PAWL_SEEDS ?? 16);

async function simulateAll(pool: PostgresQuery): Promise<void> {
  const openStore = await prepareSimulatedPostgres(pool);
  let commits = 0;
  for (let seed = first; seed < first + seeds; seed += 1) {
    const store = await openStore();
    const report = await simulate({ seed, store });
    commits += report.commits;
    await store.close();
  }
  expect(commits).toBeGreaterThan(seeds * 5);
}

const options = { ...verifies("DIST-1#simulation"), timeout: 600_000 };

test("no invariant is broken in PGlite", options, async () => {
  const { PGlite } = await import(resolveCheckTool("@electric-sql/pglite/dist/index.js"));
  const pglite = new PGlite();
  onTestFinished(() => pglite.close());
  await simulateAll(pglite);
});

describe.runIf(hasPostgres)("over a server", () => {
  const server = usePostgres(["fsync=off"]);

  test("no invariant is broken", options, async () => {
    const pool = new pg.Pool({ connectionString: server().url, max: 4 });
    // A connection that has ended may still be told that the server ends.
    pool.on("error", () => {});
    onTestFinished(() => pool.end());
    await simulateAll({ query: (text, values) => pool.query(text, values === undefined ? [] : [...values]) });
  });
});

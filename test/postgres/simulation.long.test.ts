/**
 * The simulation over a PostgreSQL store, in PGlite: the same worlds as over memory, with SQL in the place of a map.
 *
 * `PAWL_SEEDS=500 npx vitest run test/postgres/simulation.long.test.ts` runs more seeds; PAWL_SEED says which is the first.
 */
import { afterAll, beforeAll, expect, test } from "vitest";
import { migrate, openPostgresStore, type PostgresQuery } from "../../src/stores/postgres/index.js";
import { simulate } from "../simulation/simulate.js";
import { checkTool } from "../support/check-tools.js";
import { inTimeOf } from "../support/in-time-of.js";
import { verifies } from "../verifies.js";

const first = Number(process.env.PAWL_SEED ?? 1);
const seeds = Number(process.env.PAWL_SEEDS ?? 24);

let pglite: PostgresQuery & { close(): Promise<void> };
beforeAll(async () => {
  const { PGlite } = await import(checkTool("@electric-sql/pglite/dist/index.js"));
  pglite = new PGlite();
  await migrate({ pool: pglite });
  await pglite.query("CREATE TABLE public.clock AS SELECT 0::float8 AS ms");
  await pglite.query(
    "CREATE OR REPLACE FUNCTION pawl.now_ms() RETURNS float8 LANGUAGE sql VOLATILE AS 'SELECT ms FROM public.clock'",
  );
});
afterAll(() => pglite.close());

/** The server's clock is that of the simulated world, whose processes ask with its time. */
const at = (now: number) => pglite.query("UPDATE public.clock SET ms = $1", [now]);

test("no invariant is broken", { ...verifies("DIST-1#simulation"), timeout: 600_000 }, async () => {
  let commits = 0;
  for (let seed = first; seed < first + seeds; seed += 1) {
    for (const table of ["sessions", "commits", "messages", "blobs"]) await pglite.query(`DELETE FROM pawl.${table}`);
    const store = await openPostgresStore({ pool: pglite });
    const report = await simulate({ seed, store: inTimeOf(store, at) });
    commits += report.commits;
    await store.close();
  }
  expect(commits).toBeGreaterThan(seeds * 5);
});

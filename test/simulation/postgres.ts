/**
 * PostgreSQL stores for simulations: on the same tables, which are emptied for each store, and in simulated time.
 */
import type { Store } from "../../src/ports/store.js";
import { migrate, openPostgresStore, type PostgresQuery } from "../../src/stores/postgres/index.js";
import { withStoreClock } from "../../src/testing/conformance/store-clock.js";

/** Makes the tables. @returns what opens a store on them, after the one before it was closed */
export async function prepareSimulatedPostgres(pool: PostgresQuery): Promise<() => Promise<Store>> {
  await migrate({ pool });
  await pool.query("CREATE TABLE public.clock AS SELECT 0::float8 AS ms");
  await pool.query(
    "CREATE OR REPLACE FUNCTION pawl.now_ms() RETURNS float8 LANGUAGE sql VOLATILE AS 'SELECT ms FROM public.clock'",
  );
  // The server's clock is that of the simulated world, whose processes ask with its time.
  const setClock = (now: number) => pool.query("UPDATE public.clock SET ms = $1", [now]);
  const { rows } = await pool.query(
    "SELECT tablename AS name FROM pg_tables WHERE schemaname = 'pawl' AND tablename <> 'migrations'",
  );
  // Not TRUNCATE, which takes longer for tables of a few rows; and one statement, because PGlite takes no more.
  const deletions = (rows as readonly { readonly name: string }[]).map(({ name }) => `DELETE FROM pawl.${name};`);
  const emptyAll = `DO $$ BEGIN ${deletions.join(" ")} END $$`;
  return async () => {
    await pool.query(emptyAll);
    return withStoreClock(await openPostgresStore({ pool }), setClock);
  };
}

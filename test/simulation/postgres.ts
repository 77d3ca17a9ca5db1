/**
 * PostgreSQL stores for simulations: on the same tables, which are emptied for each store, and in simulated time.
 */
import type { Store } from "../../src/ports/store.js";
import { openPostgresStore, type PostgresQuery } from "../../src/stores/postgres/index.js";
import { withStoreClock } from "../../src/testing/conformance/store-clock.js";
import { controlPostgres } from "../support/controlled-postgres.js";

/** Makes the tables. @returns what opens a store on them, after the one before it was closed */
export async function prepareSimulatedPostgres(pool: PostgresQuery): Promise<() => Promise<Store>> {
  // The server's clock is that of the simulated world, whose processes ask with its time.
  const { setClock, emptyTables } = await controlPostgres({ pool }, pool);
  return async () => {
    await emptyTables();
    return withStoreClock(await openPostgresStore({ pool }), setClock);
  };
}

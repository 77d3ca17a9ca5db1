/**
 * PostgreSQL whose clock a test sets and whose tables it empties. It does not load Vitest, because `npm run crash` uses it too.
 */
import type { Pool } from "pg";
import { migrate, type PostgresConnection, type PostgresQuery } from "../../src/stores/postgres/index.js";

export type ControlledPostgres = {
  /** Leases and slots go by this time, in epoch milliseconds. */
  readonly setClock: (now: number) => Promise<void>;
  readonly emptyTables: () => Promise<void>;
};

/** Makes the tables. @param direct a connection to the same server */
export async function controlPostgres(
  connection: PostgresConnection,
  direct: Pick<Pool, "query"> | PostgresQuery,
): Promise<ControlledPostgres> {
  await migrate(connection);
  await direct.query("CREATE TABLE public.clock AS SELECT 0::float8 AS ms");
  await direct.query(
    "CREATE OR REPLACE FUNCTION pawl.now_ms() RETURNS float8 LANGUAGE sql VOLATILE AS 'SELECT ms FROM public.clock'",
  );
  const { rows } = await direct.query(
    "SELECT tablename AS name FROM pg_tables WHERE schemaname = 'pawl' AND tablename <> 'migrations'",
  );
  // Not TRUNCATE, which takes longer for tables of a few rows; and one statement, because PGlite takes no more.
  const deletions = (rows as readonly { readonly name: string }[]).map(({ name }) => `DELETE FROM pawl.${name};`);
  const emptyAll = `DO $$ BEGIN ${deletions.join(" ")} END $$`;
  return {
    setClock: async (now) => void (await direct.query("UPDATE public.clock SET ms = $1", [now])),
    emptyTables: async () => void (await direct.query(emptyAll)),
  };
}

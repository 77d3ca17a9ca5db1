/**
 * The promises of a store, on a PostgreSQL server and on PGlite.
 */
import { Pool } from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  migrate,
  openPostgresStore,
  type PostgresConnection,
  type PostgresOptions,
  type PostgresQuery,
} from "../../src/stores/postgres/index.js";
import { timeTableNames } from "../../src/stores/postgres/time-tables.js";
import { type StoreUnderTest, storeConformance } from "../../src/testing/store-conformance.js";
import { resolveCheckTool } from "../support/check-tools.js";
import { hasPostgres, type PostgresServer, startPostgres } from "../support/postgres.js";
import { verifies } from "../verifies.js";

type Direct = Pick<Pool, "query"> | PostgresQuery;

/** Leases go by the server's clock. Here it is a row of a table, which a case sets. */
async function stopClock(connection: PostgresConnection, direct: Direct): Promise<void> {
  await migrate(connection);
  await direct.query("CREATE TABLE public.clock AS SELECT 0::float8 AS ms");
  await direct.query(
    "CREATE OR REPLACE FUNCTION pawl.now_ms() RETURNS float8 LANGUAGE sql VOLATILE AS 'SELECT ms FROM public.clock'",
  );
}

/** Each case finds empty tables. */
async function underTest(connection: PostgresConnection, direct: Direct): Promise<StoreUnderTest> {
  const options: PostgresOptions = { ...connection, ...("url" in connection ? { connections: 3 } : {}), pollMs: 10 };
  for (const table of `sessions commits messages blobs ${timeTableNames}`.split(" "))
    await direct.query(`DELETE FROM pawl.${table}`);
  const store = await openPostgresStore(options);
  const opened = [store];
  const open = async () => {
    const another = await openPostgresStore(options);
    opened.push(another);
    return another;
  };
  return {
    store,
    second: open,
    setClock: async (now) => void (await direct.query("UPDATE public.clock SET ms = $1", [now])),
    reopen: async () => {
      await store.close();
      return open();
    },
    close: async () => {
      for (const each of opened) await each.close();
    },
  };
}

describe.runIf(hasPostgres)("PostgreSQL", () => {
  let server: PostgresServer;
  let direct: Pool;
  beforeAll(async () => {
    // What is tested here survives no loss of power.
    server = await startPostgres(["fsync=off"]);
    direct = new Pool({ connectionString: server.url, max: 1 });
    // A connection that has ended may still be told that the server ends.
    direct.on("error", () => {});
    await stopClock({ url: server.url }, direct);
  });
  afterAll(async () => {
    await direct.end();
    await server.close();
  });

  for (const { name, verifies: ids, run } of storeConformance(() => underTest({ url: server.url }, direct))) {
    test(name, verifies("DIST-1#conformance", ...ids), run);
  }
});

describe("PGlite", () => {
  let pglite: PostgresQuery & { close(): Promise<void> };
  beforeAll(async () => {
    const { PGlite } = await import(resolveCheckTool("@electric-sql/pglite/dist/index.js"));
    pglite = new PGlite();
    await stopClock({ pool: pglite }, pglite);
  });
  afterAll(() => pglite.close());

  for (const { name, run } of storeConformance(() => underTest({ pool: pglite }, pglite))) test(name, run);

  test("a url and a pool cannot both be given", async () => {
    await expect(openPostgresStore({ pool: pglite, url: "postgres://here" } as never)).rejects.toMatchObject({
      code: "bad_configuration",
    });
  });
});

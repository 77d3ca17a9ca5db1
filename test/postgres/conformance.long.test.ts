/**
 * The promises of a store, on a PostgreSQL server and on PGlite.
 */
import { Pool } from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  openPostgresStore,
  type PostgresConnection,
  type PostgresOptions,
  type PostgresQuery,
} from "../../src/stores/postgres/index.js";
import { type StoreUnderTest, storeConformance } from "../../src/testing/store-conformance.js";
import { resolveCheckTool } from "../support/check-tools.js";
import { type ControlledPostgres, controlPostgres } from "../support/controlled-postgres.js";
import { hasPostgres, type PostgresServer, startPostgres } from "../support/postgres.js";
import { verifies } from "../verifies.js";

/** Each case finds empty tables. */
async function underTest(connection: PostgresConnection, control: ControlledPostgres): Promise<StoreUnderTest> {
  const options: PostgresOptions = { ...connection, ...("url" in connection ? { connections: 3 } : {}), pollMs: 10 };
  await control.emptyTables();
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
    setClock: control.setClock,
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
  let control: ControlledPostgres;
  beforeAll(async () => {
    // What is tested here survives no loss of power.
    server = await startPostgres(["fsync=off"]);
    direct = new Pool({ connectionString: server.url, max: 1 });
    // A connection that has ended may still be told that the server ends.
    direct.on("error", () => {});
    control = await controlPostgres({ url: server.url }, direct);
  });
  afterAll(async () => {
    await direct.end();
    await server.close();
  });

  for (const { name, verifies: ids, run } of storeConformance(() => underTest({ url: server.url }, control))) {
    test(name, verifies("DIST-1#conformance", ...ids), run);
  }
});

describe("PGlite", () => {
  let pglite: PostgresQuery & { close(): Promise<void> };
  let control: ControlledPostgres;
  beforeAll(async () => {
    const { PGlite } = await import(resolveCheckTool("@electric-sql/pglite/dist/index.js"));
    pglite = new PGlite();
    control = await controlPostgres({ pool: pglite }, pglite);
  });
  afterAll(() => pglite.close());

  for (const { name, run } of storeConformance(() => underTest({ pool: pglite }, control))) test(name, run);

  test("a url and a pool cannot both be given", async () => {
    await expect(openPostgresStore({ pool: pglite, url: "postgres://here" } as never)).rejects.toMatchObject({
      code: "bad_configuration",
    });
  });
});

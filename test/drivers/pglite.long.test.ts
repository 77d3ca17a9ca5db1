/**
 * The driver's tests over PostgreSQL in PGlite: a schema for each store.
 */
import { afterAll, beforeAll, describe } from "vitest";
import { openPostgresStore, type PostgresQuery } from "../../src/stores/postgres/index.js";
import { resolveCheckTool } from "../support/check-tools.js";
import { defineDriverTests } from "./driver-tests.js";

describe("PGlite", () => {
  let pglite: PostgresQuery & { close(): Promise<void> };
  beforeAll(async () => {
    const { PGlite } = await import(resolveCheckTool("@electric-sql/pglite/dist/index.js"));
    pglite = new PGlite();
  });
  afterAll(() => pglite.close());
  let schemas = 0;
  defineDriverTests(() => {
    schemas += 1;
    return openPostgresStore({ pool: pglite, schema: `s${schemas}`, pollMs: 50 });
  });
});

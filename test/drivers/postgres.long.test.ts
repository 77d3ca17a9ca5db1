/**
 * The driver's tests over a PostgreSQL server: a schema for each store.
 */
import { describe } from "vitest";
import { openPostgresStore } from "../../src/stores/postgres/index.js";
import { hasPostgres, usePostgres } from "../support/postgres.js";
import { defineDriverTests } from "./driver-tests.js";

describe.runIf(hasPostgres)("PostgreSQL", () => {
  const server = usePostgres(["fsync=off"]);
  let schemas = 0;
  defineDriverTests(() => {
    schemas += 1;
    return openPostgresStore({ url: server().url, schema: `s${schemas}`, connections: 3, pollMs: 50 });
  });
});

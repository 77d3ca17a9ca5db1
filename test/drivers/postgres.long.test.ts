/**
 * The driver's tests over a PostgreSQL server: a schema for each store.
 */
import { describe } from "vitest";
import { openPostgresStore } from "../../src/stores/postgres/index.js";
import { hasPostgres, serverForTests } from "../support/postgres.js";
import { driverTests } from "./driver-tests.js";

describe.runIf(hasPostgres)("PostgreSQL", () => {
  const server = serverForTests(["fsync=off"]);
  let schemas = 0;
  driverTests(() => {
    schemas += 1;
    return openPostgresStore({ url: server().url, schema: `s${schemas}`, connections: 3, pollMs: 50 });
  });
});

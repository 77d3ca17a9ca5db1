/**
 * PostgreSQL for tests: a server for a file of tests, and a database for each.
 */
import { afterAll, beforeAll } from "vitest";
import {
  type PostgresServer,
  pgBouncerProgram,
  postgresPrograms,
  startPostgres,
} from "../../scripts/postgres/server.mjs";

export {
  type PostgresServer,
  serverUser,
  startPgBouncer,
  startPostgres,
  startReplica,
} from "../../scripts/postgres/server.mjs";

/** Whether a server can be started here. In CI it must be. */
export const hasPostgres = postgresPrograms() !== null || process.env.CI !== undefined;
if (!hasPostgres)
  console.warn("PostgreSQL is not installed, so its tests are left out. On Debian: apt-get install postgresql");

/** Whether PgBouncer can be started here. In CI it must be. */
export const hasPgBouncer = pgBouncerProgram() !== null || process.env.CI !== undefined;

/** A server for the tests of a file. Each test may have a database of its own. */
export function usePostgres(settings: readonly string[] = []): () => PostgresServer {
  let server: PostgresServer | null = null;
  beforeAll(async () => {
    server = await startPostgres(settings);
  });
  afterAll(() => server?.close());
  return () => {
    if (server === null) throw new Error("The server runs only while tests do.");
    return server;
  };
}

let databaseCount = 0;

/** Makes a new database, and gives its address. */
export async function createDatabase(server: PostgresServer): Promise<string> {
  databaseCount += 1;
  await server.run(`CREATE DATABASE test${databaseCount}`);
  return server.url.replace(/postgres$/, `test${databaseCount}`);
}

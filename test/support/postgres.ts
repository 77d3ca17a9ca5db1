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
import { waitUntil } from "../processes/rig.js";

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

/** Locks the rows of all sessions of a database, until the test lets go of them. */
export async function lockSessions(server: PostgresServer, database: string): Promise<() => Promise<void>> {
  const sleeper = `pg_stat_activity WHERE wait_event = 'PgSleep' AND datname = '${database}'`;
  const statements = "SET statement_timeout = 0; BEGIN; SELECT 1 FROM pawl.sessions FOR UPDATE; SELECT pg_sleep(600)";
  server.run(statements, database).catch(() => {});
  await waitUntil(async () => (await server.run(`SELECT 1 FROM ${sleeper}`)).length === 1, "the rows are not locked");
  return async () => void (await server.run(`SELECT pg_terminate_backend(pid) FROM ${sleeper}`));
}

let databaseCount = 0;

/** Makes a new database, and gives its address. */
export async function createDatabase(server: PostgresServer): Promise<string> {
  databaseCount += 1;
  await server.run(`CREATE DATABASE test${databaseCount}`);
  return server.url.replace(/postgres$/, `test${databaseCount}`);
}

/**
 * `pawl postgres`: creates the tables of a PostgreSQL store, and prints the privileges that its users need.
 */
import { PawlError } from "../../index.js";
import { grantsFor, migrate as migrateTables, type PostgresConnection } from "../../stores/postgres/index.js";
import { exitCodes } from "../exit.js";
import { withPostgres } from "../files/session-store.js";
import { parseStoreLocation, resolveHome } from "../files/store-location.js";
import type { Terminal } from "../terminal/terminal.js";

export type MigrateOptions = { readonly json?: true };

export async function migrate(options: MigrateOptions, terminal: Terminal): Promise<number> {
  const { from, to } = await withPostgres(() => migrateTables(requireDatabase()));
  if (options.json === true) terminal.json({ from, to });
  else if (from === to) terminal.out(`The tables are up to date: version ${to}.\n`);
  else if (from === null) terminal.out(`Created the tables: version ${to}.\n`);
  else terminal.out(`Upgraded the tables from version ${from} to version ${to}.\n`);
  return exitCodes.done;
}

export function grants(role: string, terminal: Terminal): number {
  const { schema } = findDatabase() ?? {};
  terminal.out(`${grantsFor({ role, ...(schema === undefined ? {} : { schema }) }).join("\n")}\n`);
  return exitCodes.done;
}

function findDatabase(): PostgresConnection | null {
  const location = parseStoreLocation(resolveHome(process.env), process.env);
  return location.type === "postgres" ? location.connection : null;
}

function requireDatabase(): PostgresConnection {
  const connection = findDatabase();
  if (connection !== null) return connection;
  throw new PawlError(
    "bad_configuration",
    "No database is named. Add --store postgres://user@host/database, or set PAWL_STORE.",
  );
}

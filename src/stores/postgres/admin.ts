/**
 * Administers a store: migrates its tables, prints the grants for a role, and describes its database.
 */
import { checkOptions, nonEmptyString, type OptionTable, required } from "../../check-options.js";
import { toOpenError } from "./client.js";
import { aSchemaName, type PostgresConnection, withConnection } from "./connect.js";
import {
  checkDatabase,
  grantStatements,
  newerTablesError,
  readVersion,
  type SchemaTarget,
  tablesVersion,
  upgradeTables,
} from "./migrate.js";
import { quoteIdentifier } from "./schema.js";

/**
 * Creates the tables of a store, or updates them. Any number of processes may do this at once, and while others use the store. The role
 * must own the schema or be allowed to create it. A url must lead to the server itself, not to a pooler.
 *
 * @returns the previous version of the tables (null if there were none), and the current one
 * @throws PawlError `store_open`, `newer_format`, `missing_package`
 */
export async function migrate(
  options: PostgresConnection,
): Promise<{ readonly from: number | null; readonly to: number }> {
  // Upgrading many rows may take long.
  return withConnection("migrate()", options, migrateTables, { isUnlimited: true });
}

async function migrateTables(target: SchemaTarget): Promise<{ readonly from: number | null; readonly to: number }> {
  try {
    await checkDatabase(target);
    const from = await readVersion(target);
    if (from !== null && from > tablesVersion) throw newerTablesError(target, from);
    await upgradeTables(target);
    return { from, to: tablesVersion };
  } catch (error) {
    throw toOpenError(error, target.name);
  }
}

/** The options of `grantsFor`. */
export type GrantOptions = {
  /** The role that uses the store. */
  readonly role: string;
  /** Default: `pawl`. */
  readonly schema?: string;
};

const grantRules: OptionTable<GrantOptions> = { role: required(nonEmptyString), schema: aSchemaName };

/** The statements with which the owner of the tables grants a role access. They grant only what the store needs. */
export function grantsFor(options: GrantOptions): readonly string[] {
  checkOptions("grantsFor()", grantRules, options);
  const { role, schema = "pawl" } = options;
  return grantStatements(schema, role);
}

/** A description of a PostgreSQL database. */
export type PostgresDescription = {
  /** The server's version, for example `15.6`. */
  readonly version: string;
  /** The version of the tables; null if there are none. */
  readonly tables: number | null;
  /** The format of the latest commit; null if there is none. */
  readonly format: number | null;
  /** Whether the connection is encrypted; null if the server does not report it. */
  readonly isEncrypted: boolean | null;
  /** How far the server's clock is ahead of this machine's clock, in milliseconds. */
  readonly clockAheadMs: number;
};

/**
 * Describes a database without changing it.
 * @throws PawlError `store_open`, `missing_package`
 */
export async function describePostgres(options: PostgresConnection): Promise<PostgresDescription> {
  return withConnection("describePostgres()", options, async (target) => {
    try {
      const tables = await readVersion(target);
      const sentAt = Date.now();
      const { rows } = await target.query.query(serverInfoQuery);
      const receivedAt = Date.now();
      const { version, isEncrypted, now } = rows[0] as ServerInfo;
      const format = tables === null ? null : await readFormat(target);
      const clockAheadMs = Math.round(now - (sentAt + receivedAt) / 2);
      return { version, tables, format, isEncrypted, clockAheadMs };
    } catch (error) {
      throw toOpenError(error, target.name);
    }
  });
}

type ServerInfo = { readonly version: string; readonly isEncrypted: boolean | null; readonly now: number };

const serverInfoQuery = `SELECT split_part(current_setting('server_version'), ' ', 1) AS version,
  (SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()) AS "isEncrypted",
  (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now`;

async function readFormat({ query, schema }: SchemaTarget): Promise<number | null> {
  const { rows } = await query.query(`SELECT v FROM ${quoteIdentifier(schema)}.commits ORDER BY number DESC LIMIT 1`);
  return (rows[0] as { readonly v: number } | undefined)?.v ?? null;
}

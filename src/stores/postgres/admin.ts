/**
 * For those who run a store: bringing its tables up to date, the rights of its role, and what there is to know about it.
 */
import { checkOptions, type OptionTable, someText } from "../../check-options.js";
import { openFailure } from "./client.js";
import { aSchema, connected, type PostgresConnection } from "./connect.js";
import {
  checkEncoding,
  grantStatements,
  newerTables,
  type Place,
  tablesVersion,
  updateTables,
  versionOf,
} from "./migrate.js";
import { quoted } from "./schema.js";

/**
 * Makes the tables of a store, or brings them up to date. Any number of processes may do it at once, and while others use the store.
 * Its role must own the schema, or may create it. A url must lead to the server itself, not to a pooler.
 *
 * @returns the version of the tables before, null if there were none, and now
 * @throws PawlError `store_open`, `newer_format`, `missing_package`
 */
export async function migrate(
  options: PostgresConnection,
): Promise<{ readonly from: number | null; readonly to: number }> {
  // It may take long to bring many rows up to date.
  return connected("migrate()", options, update, { isUnlimited: true });
}

async function update(place: Place): Promise<{ readonly from: number | null; readonly to: number }> {
  try {
    await checkEncoding(place);
    const from = await versionOf(place);
    if (from !== null && from > tablesVersion) throw newerTables(place, from);
    await updateTables(place);
    return { from, to: tablesVersion };
  } catch (error) {
    throw openFailure(error, place.name);
  }
}

/** Whom `grantsFor` grants what a store needs. */
export type GrantOptions = {
  /** The role that uses the store. */
  readonly role: string;
  /** Default: `pawl`. */
  readonly schema?: string;
};

const grantRules: OptionTable<GrantOptions> = { role: someText, schema: aSchema };

/** The statements by which the owner of the tables lets a role use the store: the least that it needs. */
export function grantsFor(options: GrantOptions): readonly string[] {
  checkOptions("grantsFor()", grantRules, options);
  const { role, schema = "pawl" } = options;
  return grantStatements(schema, role);
}

/** What a PostgreSQL database says of itself. */
export type PostgresDescription = {
  /** The server's version, for example `15.6`. */
  readonly version: string;
  /** Of the tables; null if there are none. */
  readonly tables: number | null;
  /** The format of the latest commit; null if there is none. */
  readonly format: number | null;
  /** Null if the server does not tell. */
  readonly isEncrypted: boolean | null;
  /** How far the server's clock is ahead of this machine's, in milliseconds. */
  readonly clockAheadMs: number;
};

/**
 * Describes a database, without changing it.
 * @throws PawlError `store_open`, `missing_package`
 */
export async function describePostgres(options: PostgresConnection): Promise<PostgresDescription> {
  return connected("describePostgres()", options, async (place) => {
    try {
      const tables = await versionOf(place);
      const askedAt = Date.now();
      const { rows } = await place.query.query(about);
      const answeredAt = Date.now();
      const { version, isEncrypted, now } = rows[0] as About;
      const format = tables === null ? null : await formatOf(place);
      const clockAheadMs = Math.round(now - (askedAt + answeredAt) / 2);
      return { version, tables, format, isEncrypted, clockAheadMs };
    } catch (error) {
      throw openFailure(error, place.name);
    }
  });
}

type About = { readonly version: string; readonly isEncrypted: boolean | null; readonly now: number };

const about = `SELECT split_part(current_setting('server_version'), ' ', 1) AS version,
  (SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()) AS "isEncrypted",
  (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now`;

async function formatOf({ query, schema }: Place): Promise<number | null> {
  const { rows } = await query.query(`SELECT v FROM ${quoted(schema)}.commits ORDER BY number DESC LIMIT 1`);
  return (rows[0] as { readonly v: number } | undefined)?.v ?? null;
}

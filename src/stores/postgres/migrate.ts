/**
 * The tables of a store: creates them, updates them, and checks their version.
 *
 * 1. A migration is one statement: it is atomic, and does not need a transaction on a connection.
 * 2. Several processes may migrate at once: an advisory lock makes them wait for each other.
 */
import { PawlError } from "../../errors.js";
import { errorCodeOf, type PostgresQuery } from "./client.js";
import { buildFunctions } from "./functions.js";
import { migrations, quoteIdentifier, quoteLiteral } from "./schema.js";
import { timeTableNames } from "./time-tables.js";

/** The version of the tables that this code writes to. */
export const tablesVersion = migrations.length;

/** The schema of a store, with its connection, and its name in messages. */
export type SchemaTarget = { readonly query: PostgresQuery; readonly schema: string; readonly name: string };

/** The version of the existing tables; null if there are none. @throws the server's error, if the role may not read them */
export async function readVersion({ query, schema }: SchemaTarget): Promise<number | null> {
  try {
    const { rows } = await query.query(`SELECT max(version) AS version FROM ${quoteIdentifier(schema)}.migrations`);
    return (rows[0] as { readonly version: number | null }).version;
  } catch (error) {
    if (errorCodeOf(error) === undefinedTable || errorCodeOf(error) === undefinedSchema) return null;
    throw error;
  }
}

const undefinedTable = "42P01";
const undefinedSchema = "3F000";
const insufficientPrivilege = "42501";

/** Updates the tables to the current version. Creates the schema if it does not exist. Changes nothing if they are up to date. */
export async function upgradeTables({ query, schema }: SchemaTarget): Promise<void> {
  const name = quoteIdentifier(schema);
  const formatExecutes = (statements: readonly string[]) =>
    statements.map((sql) => `EXECUTE ${quoteLiteral(sql)};`).join("\n");
  const blocks = migrations.map((statements, index) => {
    const version = index + 1;
    return `IF present < ${version} THEN
      ${formatExecutes([...statements, `INSERT INTO migrations (version) VALUES (${version})`])}
    END IF;`;
  });
  await query.query(`DO $do_block$ DECLARE present int := 0; BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended(${quoteLiteral(`pawl ${schema}`)}, 0));
    IF to_regnamespace(${quoteLiteral(name)}) IS NULL THEN EXECUTE ${quoteLiteral(`CREATE SCHEMA ${name}`)}; END IF;
    EXECUTE ${quoteLiteral(`SET LOCAL search_path = ${name}, pg_temp`)};
    IF to_regclass(${quoteLiteral(`${name}.migrations`)}) IS NOT NULL THEN
      EXECUTE 'SELECT coalesce(max(version), 0) FROM migrations' INTO present;
    END IF;
    ${blocks.join("\n")}
    IF present < ${tablesVersion} THEN
      ${formatExecutes(buildFunctions(name))}
    END IF;
  END $do_block$`);
}

/**
 * Under `repeatable read`, a transaction that has waited for a lock reads what was there before. A wait and its signal that are written at
 * the same time then miss each other. `serializable` refuses one of the two, which is sent again.
 *
 * @throws PawlError `store_open` if the database's encoding is not UTF8, or its transactions are isolated in this way
 */
export async function checkDatabase({ query, name }: SchemaTarget): Promise<void> {
  const { rows } = await query.query(
    "SELECT pg_encoding_to_char(encoding) AS encoding, current_setting('transaction_isolation') AS isolation FROM pg_database WHERE datname = current_database()",
  );
  const { encoding, isolation } = rows[0] as { readonly encoding: string; readonly isolation: string };
  if (isolation === "repeatable read")
    throw new PawlError(
      "store_open",
      `Transactions of the store ${name} have the isolation level repeatable read, under which signals can be lost. Set the default back: ALTER ROLE name SET default_transaction_isolation = 'read committed'`,
    );
  if (encoding !== "UTF8")
    throw new PawlError(
      "store_open",
      `The database of the store ${name} has the encoding ${encoding}, which cannot store every text. Create a database with the encoding UTF8.`,
    );
}

/** Creates the tables if there are none. @throws PawlError `store_open`, `older_format`, `newer_format` */
export async function ensureTables(target: SchemaTarget): Promise<void> {
  const { name } = target;
  await checkDatabase(target);
  const version = await readVersion(target);
  if (version === null) await createTables(target);
  else if (version > tablesVersion) throw newerTablesError(target, version);
  else if (version < tablesVersion)
    throw new PawlError(
      "older_format",
      `The store ${name} has tables of version ${version}, but this version of Pawl needs version ${tablesVersion}. Run: pawl postgres migrate`,
    );
}

export function newerTablesError({ name }: SchemaTarget, version: number): PawlError {
  return new PawlError(
    "newer_format",
    `The store ${name} has tables of version ${version}, but this version of Pawl knows versions up to ${tablesVersion}. Update Pawl.`,
  );
}

async function createTables(target: SchemaTarget): Promise<void> {
  try {
    await upgradeTables(target);
  } catch (cause) {
    if (errorCodeOf(cause) !== insufficientPrivilege) throw cause;
    throw new PawlError(
      "store_open",
      `The store ${target.name} has no tables, and this role may not create them. As a role that may, run: pawl postgres migrate. Then run the grants that pawl postgres grants prints for this role.`,
      { cause },
    );
  }
}

/** The statements with which the owner of the tables grants a role exactly what the store needs. */
export function grantStatements(schema: string, role: string): readonly string[] {
  const s = quoteIdentifier(schema);
  const r = quoteIdentifier(role);
  const qualify = (tables: string) =>
    tables
      .split(" ")
      .map((table) => `${s}.${table}`)
      .join(", ");
  return [
    `GRANT USAGE ON SCHEMA ${s} TO ${r};`,
    `GRANT SELECT ON ${qualify("migrations")} TO ${r};`,
    `GRANT SELECT, INSERT, UPDATE, DELETE ON ${qualify(`sessions messages ${timeTableNames}`)} TO ${r};`,
    `GRANT SELECT, INSERT, DELETE ON ${qualify("commits blobs")} TO ${r};`,
    `GRANT USAGE ON SEQUENCE ${qualify("epochs")} TO ${r};`,
    `GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA ${s} TO ${r};`,
  ];
}

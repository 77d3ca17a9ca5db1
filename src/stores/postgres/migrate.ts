/**
 * The tables of a store: making them, bringing them up to date, and checking that they are of this version.
 *
 * 1. A migration is one statement: it happens as a whole or not at all, and needs no transaction of a connection.
 * 2. Several processes may do it at once: an advisory lock lets one wait for the other.
 */
import { PawlError } from "../../errors.js";
import { codeOf, type PostgresQuery } from "./client.js";
import { functionsOf } from "./functions.js";
import { literal, migrations, quoted } from "./schema.js";

/** The version of the tables that this code writes to. */
export const tablesVersion = migrations.length;

/** A store's place in a database, and its name in messages. */
export type Place = { readonly query: PostgresQuery; readonly schema: string; readonly name: string };

/** The version of the tables that are there; null if there are none. @throws what the server throws, if the role may not look */
export async function versionOf({ query, schema }: Place): Promise<number | null> {
  try {
    const { rows } = await query.query(`SELECT max(version) AS version FROM ${quoted(schema)}.migrations`);
    return (rows[0] as { readonly version: number | null }).version;
  } catch (error) {
    if (codeOf(error) === undefinedTable || codeOf(error) === undefinedSchema) return null;
    throw error;
  }
}

const undefinedTable = "42P01";
const undefinedSchema = "3F000";
const insufficientPrivilege = "42501";

/** Brings the tables to the present version. Makes the schema if there is none. Changes nothing if they are up to date. */
export async function updateTables({ query, schema }: Place): Promise<void> {
  const name = quoted(schema);
  const executed = (statements: readonly string[]) => statements.map((sql) => `EXECUTE ${literal(sql)};`).join("\n");
  const steps = migrations.map((statements, index) => {
    const version = index + 1;
    return `IF present < ${version} THEN
      ${executed([...statements, `INSERT INTO migrations (version) VALUES (${version})`])}
    END IF;`;
  });
  await query.query(`DO $do_block$ DECLARE present int := 0; BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended(${literal(`pawl ${schema}`)}, 0));
    IF to_regnamespace(${literal(name)}) IS NULL THEN EXECUTE ${literal(`CREATE SCHEMA ${name}`)}; END IF;
    EXECUTE ${literal(`SET LOCAL search_path = ${name}, pg_temp`)};
    IF to_regclass(${literal(`${name}.migrations`)}) IS NOT NULL THEN
      EXECUTE 'SELECT coalesce(max(version), 0) FROM migrations' INTO present;
    END IF;
    ${steps.join("\n")}
    IF present < ${tablesVersion} THEN
      ${executed(functionsOf(name))}
    END IF;
  END $do_block$`);
}

/** @throws PawlError `store_open` if the database has another encoding than UTF8 */
export async function checkEncoding({ query, name }: Place): Promise<void> {
  const { rows } = await query.query(
    "SELECT pg_encoding_to_char(encoding) AS encoding FROM pg_database WHERE datname = current_database()",
  );
  const { encoding } = rows[0] as { readonly encoding: string };
  if (encoding !== "UTF8")
    throw new PawlError(
      "store_open",
      `The database of the store ${name} has the encoding ${encoding}, which cannot keep every text. Make a database with the encoding UTF8.`,
    );
}

/** Makes the tables if there are none. @throws PawlError `store_open`, `older_format`, `newer_format` */
export async function prepareTables(place: Place): Promise<void> {
  const { name } = place;
  await checkEncoding(place);
  const version = await versionOf(place);
  if (version === null) await makeTables(place);
  else if (version > tablesVersion) throw newerTables(place, version);
  else if (version < tablesVersion)
    throw new PawlError(
      "older_format",
      `The store ${name} has tables of version ${version}, and this version of Pawl needs version ${tablesVersion}. Run: pawl postgres migrate`,
    );
}

export function newerTables({ name }: Place, version: number): PawlError {
  return new PawlError(
    "newer_format",
    `The store ${name} has tables of version ${version}, and this version of Pawl knows them up to version ${tablesVersion}. Update Pawl.`,
  );
}

async function makeTables(place: Place): Promise<void> {
  try {
    await updateTables(place);
  } catch (cause) {
    if (codeOf(cause) !== insufficientPrivilege) throw cause;
    throw new PawlError(
      "store_open",
      `The store ${place.name} has no tables, and this role may not make them. As a role that may, run: pawl postgres migrate. Then grant this role what pawl postgres grants prints.`,
      { cause },
    );
  }
}

/** What a role needs to use the store, and nothing more: statements for the owner of the tables. */
export function grantStatements(schema: string, role: string): readonly string[] {
  const s = quoted(schema);
  const r = quoted(role);
  const on = (tables: string) =>
    tables
      .split(" ")
      .map((table) => `${s}.${table}`)
      .join(", ");
  return [
    `GRANT USAGE ON SCHEMA ${s} TO ${r};`,
    `GRANT SELECT ON ${on("migrations")} TO ${r};`,
    `GRANT SELECT, INSERT, UPDATE, DELETE ON ${on("sessions messages")} TO ${r};`,
    `GRANT SELECT, INSERT, DELETE ON ${on("commits blobs")} TO ${r};`,
    `GRANT USAGE ON SEQUENCE ${on("epochs")} TO ${r};`,
    `GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA ${s} TO ${r};`,
  ];
}

/**
 * Connects to the database that a caller names or passes, and to the schema in it.
 */
import { anObject, checkOptions, nonEmptyString, type OptionTable } from "../../check-options.js";
import { PawlError } from "../../errors.js";
import type { PostgresQuery } from "./client.js";
import type { SchemaTarget } from "./migrate.js";
import { ignorePoolErrors, openPool, type PoolOptions } from "./pool.js";

/**
 * `postgres://user:password@host:5432/database`. Connections to other machines are encrypted and the server's certificate is checked,
 * unless the address contains `sslmode=disable` or `sslmode=no-verify`.
 */
type UrlConnection = {
  /** The address of the database: `postgres://user@host/database`. */
  readonly url: string;
  readonly pool?: never;
};
/** A pool of `pg`, or PGlite. The store does not close it. */
type PoolConnection = {
  /** A pool of the package `pg`. The caller closes it. */
  readonly pool: PostgresQuery;
  readonly url?: never;
};

/** Where the database is. */
export type PostgresConnection = (UrlConnection | PoolConnection) & {
  /** The schema of the tables: at most 48 letters, digits and underscores. Default: `?schema=` of the address, or else `pawl`. */
  readonly schema?: string;
};

type AllOptions = { readonly [Key in keyof PostgresConnection | "url" | "pool"]?: unknown };

/** The name of a schema is also part of the name of its notification channel, and PostgreSQL names have at most 63 bytes. */
export const aSchemaName = {
  accepts: (value: unknown) => typeof value === "string" && /^[A-Za-z_]\w{0,47}$/.test(value),
  expected: "a name of letters, digits and underscores, at most 48, which does not begin with a digit",
};

export const connectionRules: OptionTable<AllOptions> = { url: nonEmptyString, pool: anObject, schema: aSchemaName };

/** The names that `pg` and other libraries use for these options. */
export const otherNames = { connectionString: "url", client: "pool", database: "url" };

export type OpenConnection = {
  readonly target: SchemaTarget;
  /** Closes the connections that were opened here. */
  readonly close: () => Promise<void>;
};

/** @throws PawlError `bad_configuration`, `missing_package` */
export async function connect(
  caller: string,
  { url, pool, schema }: PostgresConnection,
  options: PoolOptions,
): Promise<OpenConnection> {
  if (url !== undefined && pool === undefined) {
    const chosen = schema ?? readSchema(url) ?? defaultSchema;
    const { query, close } = await openPool(url, options);
    return { target: { query, schema: chosen, name: formatStoreName(url, chosen) }, close };
  }
  if (pool === undefined || url !== undefined)
    throw new PawlError("bad_configuration", `${caller} takes either \`url\` or \`pool\`. Pass exactly one of them.`);
  const removeErrorListener = ignorePoolErrors(pool);
  const chosen = schema ?? defaultSchema;
  return {
    target: { query: pool, schema: chosen, name: `of schema ${chosen}` },
    close: async () => removeErrorListener(),
  };
}

const defaultSchema = "pawl";

/** The schema that an address names: `?schema=NAME`. @throws PawlError `bad_configuration` if it is not a valid schema name */
function readSchema(url: string): string | undefined {
  const named = URL.canParse(url) ? new URL(url).searchParams.get("schema") : null;
  if (named === null) return undefined;
  if (!aSchemaName.accepts(named))
    throw new PawlError(
      "bad_configuration",
      `The schema in the store's address is ${JSON.stringify(named.slice(0, 100))}; it must be ${aSchemaName.expected}.`,
    );
  return named;
}

/** Opens a connection, runs `work` with it, and closes it. */
export async function withConnection<Result>(
  caller: string,
  options: PostgresConnection,
  work: (target: SchemaTarget) => Promise<Result>,
  { isUnlimited = false } = {},
): Promise<Result> {
  checkOptions<AllOptions>(caller, connectionRules, options, { otherNames });
  const { target, close } = await connect(caller, options, { connections: 1, isUnlimited });
  try {
    return await work(target);
  } finally {
    await close();
  }
}

/** The address without its user and password. */
function formatStoreName(url: string, schema: string): string {
  const { host, pathname } = new URL(url);
  return `${host}${pathname} (schema ${schema})`;
}

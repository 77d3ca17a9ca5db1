/**
 * The connection that a caller names or gives, and the schema in it.
 */
import { anObject, checkOptions, type OptionTable, someText } from "../../check-options.js";
import { PawlError } from "../../errors.js";
import type { PostgresQuery } from "./client.js";
import type { Place } from "./migrate.js";
import { keepErrors, openPool, type PoolOptions } from "./pool.js";

/**
 * `postgres://user:password@host:5432/database`. Connections to other machines are encrypted, and the server's certificate is checked,
 * unless the address says `sslmode=disable` or `sslmode=no-verify`.
 */
type Named = {
  /** The address of the database: `postgres://user@host/database`. */
  readonly url: string;
  readonly pool?: never;
};
/** A pool of `pg`, or PGlite. It is left open. */
type Given = {
  /** A pool of the package `pg`, which the caller ends. */
  readonly pool: PostgresQuery;
  readonly url?: never;
};

/** Where the database is. */
export type PostgresConnection = (Named | Given) & {
  /** The schema of the tables: letters, digits and underscores, at most 48. Default: `pawl`. */
  readonly schema?: string;
};

type AllOptions = { readonly [Key in keyof PostgresConnection | "url" | "pool"]?: unknown };

/** Whoever names a schema names the channel of its notifications, too, and a name has at most 63 bytes. */
export const aSchema = {
  takes: (value: unknown) => typeof value === "string" && /^[A-Za-z_]\w{0,47}$/.test(value),
  wanted: "a name of letters, digits and underscores, at most 48, which does not begin with a digit",
};

export const connectionRules: OptionTable<AllOptions> = { url: someText, pool: anObject, schema: aSchema };

/** What `pg` and others call these options. */
export const otherNames = { connectionString: "url", client: "pool", database: "url" };

export type Connected = {
  readonly place: Place;
  /** Closes what was opened here. */
  readonly close: () => Promise<void>;
};

/** @throws PawlError `bad_configuration`, `missing_package` */
export async function connect(
  what: string,
  { url, pool, schema = "pawl" }: PostgresConnection,
  options: PoolOptions,
): Promise<Connected> {
  if (url !== undefined && pool === undefined) {
    const { query, close } = await openPool(url, options);
    return { place: { query, schema, name: nameOf(url, schema) }, close };
  }
  if (pool === undefined || url !== undefined)
    throw new PawlError("bad_configuration", `${what} takes either a url or a pool. Give one of them.`);
  const leave = keepErrors(pool);
  return { place: { query: pool, schema, name: `of schema ${schema}` }, close: async () => leave() };
}

/** Does one thing with a connection. */
export async function connected<Result>(
  what: string,
  options: PostgresConnection,
  work: (place: Place) => Promise<Result>,
  { isUnlimited = false } = {},
): Promise<Result> {
  checkOptions<AllOptions>(what, connectionRules, options, { otherNames });
  const { place, close } = await connect(what, options, { connections: 1, isUnlimited });
  try {
    return await work(place);
  } finally {
    await close();
  }
}

/** The address without its user and password. */
function nameOf(url: string, schema: string): string {
  const { host, pathname } = new URL(url);
  return `${host}${pathname} (schema ${schema})`;
}

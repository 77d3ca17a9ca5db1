/**
 * The store of the command line's sessions: one SQLite file, the same for every folder. `--store` and `PAWL_STORE` name another
 * file, or a PostgreSQL database.
 */
import { existsSync, realpathSync } from "node:fs";
import { homedir } from "node:os";
import { isAbsolute, join, resolve } from "node:path";
import { createMemoryStore, PawlError, type SessionSummary, type Store } from "../../index.js";
import type { PostgresConnection } from "../../stores/postgres/index.js";
import { openSqliteStore } from "../../stores/sqlite/index.js";
import { installCommand } from "../installation.js";

export type Environment = { readonly [name: string]: string | undefined };

/** `PAWL_HOME`, else `XDG_DATA_HOME/pawl`, else `~/.local/share/pawl`, which is the default of the XDG standard. */
export function resolveHome(environment: Environment): string {
  const { PAWL_HOME: pawlHome, XDG_DATA_HOME: xdgDataHome } = environment;
  if (pawlHome !== undefined && pawlHome !== "") return resolve(pawlHome);
  // The XDG standard says to ignore a relative path.
  if (xdgDataHome !== undefined && isAbsolute(xdgDataHome)) return join(xdgDataHome, "pawl");
  return join(homedir(), ".local", "share", "pawl");
}

export type StoreLocation =
  | {
      readonly type: "file";
      readonly path: string;
      /** Whether a person named the file. Only commands that begin sessions create it, because the name may be mistyped. */
      readonly isNamed: boolean;
    }
  | { readonly type: "postgres"; readonly connection: PostgresConnection };

/** A scheme of two letters or more: `C:\` is a file. */
const addressPattern = /^[a-z][a-z\d+.-]+:/i;

/** Resolves the value of `--store` or `PAWL_STORE` to an absolute path, so that it names the same store in every folder. */
export function resolveStoreName(name: string): string {
  return name === "" || addressPattern.test(name) ? name : resolve(name);
}

/** @throws PawlError `bad_configuration` if `PAWL_STORE` is an address, but not of PostgreSQL */
export function parseStoreLocation(home: string, { PAWL_STORE: name = "" }: Environment): StoreLocation {
  if (name === "") return { type: "file", path: join(home, "sessions.db"), isNamed: false };
  if (!addressPattern.test(name)) return { type: "file", path: resolve(name), isNamed: true };
  // The address may contain a password, so the message does not repeat it.
  if (!/^postgres(?:ql)?:\/\//.test(name) || !URL.canParse(name))
    throw new PawlError(
      "bad_configuration",
      "--store and PAWL_STORE take a file, for example ./jobs.db, or the address of a PostgreSQL database, for example postgres://user@host/database.",
    );
  const url = new URL(name);
  const schema = url.searchParams.get("schema");
  url.searchParams.delete("schema");
  return { type: "postgres", connection: { url: url.href, ...(schema === null ? {} : { schema }) } };
}

/** The files of the store, which tools must never write. */
export function listStoreFiles(home: string): readonly string[] {
  const location = parseStoreLocation(home, process.env);
  if (location.type === "postgres") return [home];
  // If the path is a link, SQLite's other files are next to its target.
  const files = new Set([location.path, existsSync(location.path) ? realpathSync(location.path) : location.path]);
  const suffixes = ["", "-journal", "-wal", "-shm", "-redacting"];
  return [home, ...[...files].flatMap((file) => suffixes.map((suffix) => `${file}${suffix}`))];
}

type OpenOptions = {
  /** Whether a named file is created if it does not exist. Default: false. */
  readonly creates?: boolean;
};

/** @throws PawlError `bad_configuration`, `store_open`, `store_corrupt`, `newer_format`, `missing_package` */
export async function openStore(home: string, { creates = false }: OpenOptions = {}): Promise<Store> {
  const location = parseStoreLocation(home, process.env);
  if (location.type === "postgres")
    return withPostgres(async () => {
      const { openPostgresStore } = await import("../../stores/postgres/index.js");
      return openPostgresStore(location.connection);
    });
  const { path, isNamed } = location;
  if (isNamed && !creates && !existsSync(path))
    throw new PawlError(
      "store_open",
      `There is no file ${path}. Check --store or PAWL_STORE: commands that begin sessions, such as "pawl run", create the file.`,
    );
  return withSqlite(() => openSqliteStore({ path }));
}

/** If `pg` is missing, the error names the command that adds it to this installation. */
export async function withPostgres<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    if (!isMissingPackage(cause)) throw cause;
    const message = `Sessions in PostgreSQL need the package pg. Run: ${installCommand("pg")}`;
    throw new PawlError("missing_package", message, { cause });
  }
}

/** If Node has no SQLite, the error names the command that adds it to this installation. */
export async function withSqlite<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    if (!isMissingPackage(cause)) throw cause;
    const message = `Node ${process.version} has no SQLite, so no sessions are kept. ${formatKeepAdvice()}`;
    throw new PawlError("missing_package", message, { cause });
  }
}

export type OpenedStore = {
  readonly store: Store;
  /** Why the sessions of this store are lost when the process ends; null if they are stored. */
  readonly loss: string | null;
};

/**
 * Opens the store, or a store in memory if Node has no SQLite and no store was named.
 * @throws PawlError as `openStore`; `missing_package` only if a store was named
 */
export async function openStoreOrMemory(home: string): Promise<OpenedStore> {
  try {
    return { store: await openStore(home, { creates: true }), loss: null };
  } catch (error) {
    if (!isMissingPackage(error) || (process.env.PAWL_STORE ?? "") !== "") throw error;
    const loss = `This session is lost when the command ends, because Node ${process.version} has no SQLite. ${formatKeepAdvice()}`;
    return { store: createMemoryStore(), loss };
  }
}

function isMissingPackage(error: unknown): boolean {
  return error instanceof PawlError && error.code === "missing_package";
}

function formatKeepAdvice(): string {
  return `To keep sessions, use Node 22.13 or later, or run: ${installCommand("libsql")}`;
}

/**
 * The session with this id, or the only session whose id begins with it; undefined if there is none.
 * @throws PawlError `bad_input` if several ids begin with it
 */
export async function findSession(store: Store, id: string): Promise<SessionSummary | undefined> {
  const all = await store.list();
  const exact = all.find((session) => session.sessionId === id);
  if (exact !== undefined || id === "") return exact;
  const [first, ...others] = all.filter((session) => session.sessionId.startsWith(id));
  if (others.length === 0) return first;
  throw new PawlError(
    "bad_input",
    `The ids of ${1 + others.length} sessions begin with ${JSON.stringify(id)}. Give more characters; "pawl sessions" lists the ids.`,
  );
}

/** @throws PawlError `no_session`, `bad_input` */
export async function getSession(store: Store, id: string): Promise<SessionSummary> {
  const summary = await findSession(store, id);
  if (summary !== undefined) return summary;
  throw new PawlError(
    "no_session",
    `There is no session ${JSON.stringify(id)} in ${describeSearchedStore()}. "pawl sessions" lists all sessions.`,
  );
}

/** The store that was searched, for messages that something is not in it; with a store of this folder that was not searched. */
export function describeSearchedStore(): string {
  const location = parseStoreLocation(resolveHome(process.env), process.env);
  if (location.type === "postgres") return "the PostgreSQL database";
  const isForgotten = !location.isNamed && existsSync("sessions.db") && resolve("sessions.db") !== location.path;
  return `${location.path}${isForgotten ? " (this folder has another store: --store sessions.db)" : ""}`;
}

/** The first 8 characters of an id, or as many as are necessary to distinguish it from the others. */
export function shortId(id: string, all: readonly string[] = []): string {
  for (let length = 8; length < id.length; length++) {
    const short = id.slice(0, length);
    if (!all.some((other) => other !== id && other.startsWith(short))) return short;
  }
  return id;
}

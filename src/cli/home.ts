/**
 * Where the command line keeps its sessions: one SQLite file, the same for every folder; or a PostgreSQL database.
 */
import { homedir } from "node:os";
import { isAbsolute, join, resolve } from "node:path";
import { createMemoryStore, PawlError, type SessionSummary, type Store } from "../index.js";
import type { PostgresConnection } from "../stores/postgres/index.js";
import { openSqliteStore } from "../stores/sqlite/index.js";
import { installCommand } from "./installation.js";

export type Environment = { readonly [name: string]: string | undefined };

/** `PAWL_HOME`, else `XDG_DATA_HOME/pawl`, else `~/.local/share/pawl`, which is the default of the XDG standard. */
export function homeOf(environment: Environment): string {
  const { PAWL_HOME: own, XDG_DATA_HOME: data } = environment;
  if (own !== undefined && own !== "") return resolve(own);
  // The XDG standard says to ignore a relative path.
  if (data !== undefined && isAbsolute(data)) return join(data, "pawl");
  return join(homedir(), ".local", "share", "pawl");
}

export function databaseOf(home: string): string {
  return join(home, "sessions.db");
}

/** The PostgreSQL database that `PAWL_STORE` names (`--store` sets it); null: sessions are in a file of the home folder. */
export function postgresOf({ PAWL_STORE: address }: Environment): PostgresConnection | null {
  if (address === undefined || address === "") return null;
  // The address may hold a password. So the message does not repeat it.
  if (!/^postgres(?:ql)?:\/\//.test(address) || !URL.canParse(address))
    throw new PawlError(
      "bad_configuration",
      "--store and PAWL_STORE take the address of a PostgreSQL database, for example postgres://user@host/database.",
    );
  const url = new URL(address);
  const schema = url.searchParams.get("schema");
  url.searchParams.delete("schema");
  return { url: url.href, ...(schema === null ? {} : { schema }) };
}

/** @throws PawlError `store_open`, `store_corrupt`, `newer_format`, `missing_package` */
export function openStore(home: string): Promise<Store> {
  const postgres = postgresOf(process.env);
  return postgres === null
    ? withSqlite(() => openSqliteStore({ path: databaseOf(home) }))
    : withPostgres(async () => {
        const { openPostgresStore } = await import("../stores/postgres/index.js");
        return openPostgresStore(postgres);
      });
}

/** If `pg` is missing, the error names the command that adds it to this installation. */
export async function withPostgres<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    if (!lacksPackage(cause)) throw cause;
    const message = `Sessions in PostgreSQL need the package pg. Run: ${installCommand("pg")}`;
    throw new PawlError("missing_package", message, { cause });
  }
}

/** If Node has no SQLite, the error names the command that adds it to this installation. */
export async function withSqlite<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    if (!lacksPackage(cause)) throw cause;
    const message = `Node ${process.version} has no SQLite, so no sessions are kept. ${keeping()}`;
    throw new PawlError("missing_package", message, { cause });
  }
}

export type OpenedStore = {
  readonly store: Store;
  /** Why the sessions of this store are lost when the process ends; null if they are kept. */
  readonly loss: string | null;
};

/** Opens the sessions, or a store in memory if Node has no SQLite. @throws PawlError as `openStore`, except for that */
export async function openStoreOrMemory(home: string): Promise<OpenedStore> {
  try {
    return { store: await openStore(home), loss: null };
  } catch (error) {
    if (!lacksPackage(error) || postgresOf(process.env) !== null) throw error;
    const loss = `This session is lost when the command ends, because Node ${process.version} has no SQLite. ${keeping()}`;
    return { store: createMemoryStore(), loss };
  }
}

function lacksPackage(error: unknown): boolean {
  return error instanceof PawlError && error.code === "missing_package";
}

function keeping(): string {
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
  const found = await findSession(store, id);
  if (found !== undefined) return found;
  throw new PawlError("no_session", `There is no session ${JSON.stringify(id)}. "pawl sessions" lists all sessions.`);
}

/** The first 8 characters of an id, or as many as tell it from the others. */
export function shortId(id: string, all: readonly string[] = []): string {
  for (let length = 8; length < id.length; length++) {
    const short = id.slice(0, length);
    if (!all.some((other) => other !== id && other.startsWith(short))) return short;
  }
  return id;
}

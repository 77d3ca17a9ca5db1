/**
 * Opens the store of the command line's sessions (`store-location.ts`), and finds sessions in it.
 */
import { existsSync } from "node:fs";
import { createMemoryStore, PawlError, type SessionSummary, type Store } from "../../index.js";
import { openSqliteStore } from "../../stores/sqlite/index.js";
import { installCommand } from "../installation.js";
import { describeSearchedStore, parseStoreLocation } from "./store-location.js";

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
    `The ids of ${1 + others.length} sessions begin with ${JSON.stringify(id)}. Give more characters; "pawl sessions --all" lists the ids.`,
  );
}

/** @throws PawlError `no_session`, `bad_input` */
export async function getSession(store: Store, id: string): Promise<SessionSummary> {
  const summary = await findSession(store, id);
  if (summary !== undefined) return summary;
  throw new PawlError(
    "no_session",
    `There is no session ${JSON.stringify(id)} in ${describeSearchedStore()}. "pawl sessions --all" lists all sessions.`,
  );
}

/**
 * The beginning of an id that identifies a session: 8 characters, or as many as are necessary to distinguish it from `all`. Without
 * `all`, a readable id that a program chose is whole, because many of them may begin like "customer-41".
 */
export function shortId(id: string, all?: readonly string[]): string {
  if (all === undefined) return readableId.test(id) && !randomId.test(id) ? id : id.slice(0, 8);
  for (let length = 8; length < id.length; length++) {
    const short = id.slice(0, length);
    if (!all.some((other) => other !== id && other.startsWith(short))) return short;
  }
  return id;
}

/** An id that fits into a line and that a shell takes as one word: people copy ids from the commands that are shown to them. */
const readableId = /^[\p{L}\p{N}_][\p{L}\p{N}_.:@/+-]{0,99}$/u;

/** The ids that `makeRandomId` and the server make, those of children, and UUIDs, which earlier versions made. */
const randomId =
  /^(?:[0-9a-z]{26}|[0-9a-f]{32}|(?=.*[A-Z])(?=.*[a-z])[\w-]{22}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/;

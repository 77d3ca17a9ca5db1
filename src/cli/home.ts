/**
 * Where the command line keeps its sessions: one SQLite file, the same for every folder.
 */
import { homedir } from "node:os";
import { isAbsolute, join, resolve } from "node:path";
import type { SessionSummary, Store } from "../index.js";
import { PawlError } from "../index.js";
import { openSqliteStore } from "../stores/sqlite/index.js";

export type Environment = { readonly [name: string]: string | undefined };

/** `PAWL_HOME`, or the folder for programs' data that the user's system names (XDG), or that of this standard. */
export function homeOf(environment: Environment): string {
  const { PAWL_HOME: own, XDG_DATA_HOME: data } = environment;
  if (own !== undefined && own !== "") return resolve(own);
  // The standard says that a relative path is to be ignored.
  if (data !== undefined && isAbsolute(data)) return join(data, "pawl");
  return join(homedir(), ".local", "share", "pawl");
}

export function databaseOf(home: string): string {
  return join(home, "sessions.db");
}

/** @throws PawlError `store_open`, `store_corrupt`, `newer_format`, `missing_package` */
export function openStore(home: string): Promise<Store> {
  return openSqliteStore({ path: databaseOf(home) });
}

/**
 * The session of that id, or of the one id that begins so; undefined where there is none.
 * @throws PawlError `bad_input` where several begin so
 */
export async function findSession(store: Store, id: string): Promise<SessionSummary | undefined> {
  const all = await store.list();
  const exact = all.find((one) => one.sessionId === id);
  if (exact !== undefined || id === "") return exact;
  const [first, ...others] = all.filter((one) => one.sessionId.startsWith(id));
  if (others.length === 0) return first;
  throw new PawlError(
    "bad_input",
    `${1 + others.length} sessions begin with ${JSON.stringify(id)}. Give more of the id; "pawl sessions" lists them.`,
  );
}

/** @throws PawlError `no_session`, `bad_input` */
export async function getSession(store: Store, id: string): Promise<SessionSummary> {
  const found = await findSession(store, id);
  if (found !== undefined) return found;
  throw new PawlError(
    "no_session",
    `There is no session ${JSON.stringify(id)}. "pawl sessions" lists those there are.`,
  );
}

/** The first characters of an id: enough to tell it from the others, and never less than 8. */
export function shortId(id: string, all: readonly string[] = []): string {
  for (let length = 8; length < id.length; length++) {
    const short = id.slice(0, length);
    if (!all.some((other) => other !== id && other.startsWith(short))) return short;
  }
  return id;
}

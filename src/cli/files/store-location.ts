/**
 * Where the sessions of the command line are: one SQLite file, the same for every folder. `--store` and `PAWL_STORE` name another
 * file, or a PostgreSQL database.
 */
import { existsSync, realpathSync } from "node:fs";
import { homedir } from "node:os";
import { isAbsolute, join, resolve } from "node:path";
import { PawlError } from "../../index.js";
import type { PostgresConnection } from "../../stores/postgres/index.js";

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

/** Describes the searched store, for "not found" messages. Also mentions a store in this folder that was not searched. */
export function describeSearchedStore(): string {
  const location = parseStoreLocation(resolveHome(process.env), process.env);
  if (location.type === "postgres") return "the PostgreSQL database";
  const isForgotten = !location.isNamed && existsSync("sessions.db") && resolve("sessions.db") !== location.path;
  return `${location.path}${isForgotten ? " (this folder has another store: --store sessions.db)" : ""}`;
}

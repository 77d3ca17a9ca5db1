/**
 * The SQLite library: the one built into Node, `libsql`, or a handle with the same interface that the caller opened.
 */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { PawlError } from "../../errors.js";

/** A column value. */
export type SqliteValue = null | number | string | Uint8Array;

/** A prepared statement. */
export interface SqliteStatement {
  /** Runs the statement and ignores its rows. */
  run(...values: SqliteValue[]): unknown;
  /** Runs the statement and returns its first row. */
  get(...values: SqliteValue[]): unknown;
  /** Runs the statement and returns all rows. */
  all(...values: SqliteValue[]): unknown[];
}

/** The interface that `node:sqlite`, `libsql` and `better-sqlite3` have in common. */
export interface SqliteHandle {
  /** Runs statements. */
  exec(sql: string): unknown;
  /** Prepares a statement. */
  prepare(sql: string): SqliteStatement;
  /** Closes the database. */
  close(): unknown;
}

/** Bytes, as the different libraries return them. */
export type SqliteBytes = Uint8Array | ArrayBuffer;

export function toBytes(value: SqliteBytes | null): Uint8Array {
  return value === null ? new Uint8Array(0) : new Uint8Array(value);
}

/** A row in which texts are read as bytes. */
export type ByteColumns<Row> = {
  readonly [Column in keyof Row]: null extends Row[Column]
    ? string extends Row[Column]
      ? SqliteBytes | null
      : Row[Column]
    : string extends Row[Column]
      ? SqliteBytes
      : Row[Column];
};

/**
 * Decodes text that a statement has read as bytes. If it were read as text, invalid UTF-8 would make `libsql` end the process. Damage can
 * also turn a string into null: the result is then an empty string, which matches no checksum.
 */
export function decodeColumn(value: SqliteBytes | null): string {
  if (value === null) return "";
  return value instanceof Uint8Array
    ? Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString()
    : Buffer.from(value).toString();
}

/** The same for a column that may hold null. */
export function decodeNullableColumn(value: SqliteBytes | null): string | null {
  return value === null ? null : decodeColumn(value);
}

/** Primary result codes of SQLite. */
export const sqliteCodes = {
  BUSY: 5,
  LOCKED: 6,
  READONLY: 8,
  CORRUPT: 11,
  FULL: 13,
  NOTADB: 26,
} as const;

/** Opens a file, or `:memory:`, with the best library available. */
export async function openHandle(path: string): Promise<SqliteHandle> {
  const Handle = await loadSqlite();
  return new Handle(path);
}

type HandleClass = { new (path: string): SqliteHandle; readonly prototype: SqliteHandle };

/**
 * Loads the best SQLite library available: the built-in one, or otherwise `libsql`.
 *
 * @throws PawlError `missing_package`
 */
export async function loadSqlite(): Promise<HandleClass> {
  return loadBuiltInSqlite() ?? (await importLibsql());
}

function loadBuiltInSqlite(): HandleClass | null {
  // Loading the built-in module prints a warning that it is experimental. Only that warning is suppressed.
  const emitWarning = process.emitWarning;
  const emitOtherWarnings = (...warning: Parameters<typeof emitWarning>): void => {
    if (!/SQLite is an experimental feature/.test(String(warning[0]))) emitWarning.apply(process, warning);
  };
  process.emitWarning = emitOtherWarnings as typeof emitWarning;
  try {
    const module: unknown = process.getBuiltinModule?.("node:sqlite");
    return (module as { readonly DatabaseSync: HandleClass } | undefined)?.DatabaseSync ?? null;
  } finally {
    process.emitWarning = emitWarning;
  }
}

async function importLibsql(): Promise<HandleClass> {
  try {
    const module: { readonly default: unknown } = await import("libsql");
    return module.default as HandleClass;
  } catch (cause) {
    throw new PawlError(
      "missing_package",
      `Node ${process.version} has no built-in SQLite (Node 22.13 and later have it), and the package libsql could not be loaded. Run: npm install libsql`,
      { cause },
    );
  }
}

/** The primary result code of an error that SQLite raised; null for any other error. */
export function sqliteCode(error: unknown): number | null {
  if (!(error instanceof Error)) return null;
  const { errcode, rawCode, code } = error as {
    readonly errcode?: unknown;
    readonly rawCode?: unknown;
    readonly code?: unknown;
  };
  if (typeof errcode === "number") return errcode & 0xff;
  if (typeof rawCode === "number") return rawCode & 0xff;
  // Deno raises some errors without a number but with SQLite's own message.
  if ("Deno" in globalThis && error.message === "database is locked") return sqliteCodes.BUSY;
  if (typeof code !== "string") return null;
  const name = Object.entries(sqliteCodes).find(
    ([name]) => code === `SQLITE_${name}` || code.startsWith(`SQLITE_${name}_`),
  );
  return name?.[1] ?? null;
}

/** Whether another connection has the lock: nothing was done, and the caller can retry. */
export function isBusy(error: unknown): boolean {
  const code = sqliteCode(error);
  return code === sqliteCodes.BUSY || code === sqliteCodes.LOCKED;
}

/** `BEGIN` alone takes no lock. `END` means `COMMIT`, but only writing transactions say `COMMIT`, so that a test can count them. */
const lockModes = {
  read: { begin: ["BEGIN", "SELECT 0 FROM sqlite_schema LIMIT 1"], end: "END" },
  write: { begin: ["BEGIN IMMEDIATE"], end: "COMMIT" },
  /** Writes nothing, but keeps other connections from writing. */
  guard: { begin: ["BEGIN IMMEDIATE"], end: "END" },
} as const;

/**
 * Runs work under a lock. While other processes may hold the file, prepared statements run only through this function. In `libsql`, a
 * statement that meets a lock stays open, and the next transaction of its connection then keeps its lock after it has ended.
 */
export function inTransaction<Result>(handle: SqliteHandle, lock: keyof typeof lockModes, work: () => Result): Result {
  let isOpen = false;
  try {
    for (const sql of lockModes[lock].begin) {
      handle.exec(sql);
      isOpen = true;
    }
    const result = work();
    handle.exec(lockModes[lock].end);
    return result;
  } catch (error) {
    if (isOpen) rollBack(handle);
    throw error;
  }
}

/**
 * Rolls a transaction back. After some errors (such as a full disk) SQLite has already ended the transaction, and there is nothing to roll
 * back.
 */
export function rollBack(handle: SqliteHandle): void {
  try {
    handle.exec("ROLLBACK");
  } catch (error) {
    if (!(error instanceof Error && error.message.includes("no transaction is active"))) throw error;
  }
}

/** Refuses the versions of better-sqlite3 that are known to crash this version of Node. */
export function checkHandle(handle: SqliteHandle): void {
  const isBetterSqlite = "unsafeMode" in handle && "serialize" in handle && !("syncUntil" in handle);
  const version = isBetterSqlite ? findLoadedVersion("better-sqlite3") : null;
  const problem = version === null ? null : findKnownCrash(version, process.versions.node);
  if (problem !== null) throw new PawlError("bad_configuration", problem);
}

/** Describes a known crash of this better-sqlite3 on this Node; null if none is known. */
export function findKnownCrash(betterSqlite: string, node: string): string | null {
  const [major = 0] = parseVersion(betterSqlite);
  const [nodeMajor = 0, nodeMinor = 0] = parseVersion(node);
  const advice = "Leave out `database`: Pawl then opens the file itself.";
  if (major === 12 && (nodeMajor > 24 || (nodeMajor === 24 && nodeMinor >= 19)))
    return `better-sqlite3 ${betterSqlite} aborts the process on Node ${node} (24.19 and later). ${advice}`;
  if (major === 13 && nodeMajor === 20) return `better-sqlite3 ${betterSqlite} crashes on Node ${node}. ${advice}`;
  return null;
}

export function parseVersion(version: string): readonly number[] {
  return version.split(".").map((part) => Number.parseInt(part, 10));
}

/** The version of a CommonJS package that this process has loaded, from any folder; null if it has not loaded it. */
function findLoadedVersion(name: string): string | null {
  const packagePattern = new RegExp(`^.*[\\\\/]node_modules[\\\\/]${name}(?=[\\\\/])`);
  for (const file of Object.keys(createRequire(import.meta.url).cache)) {
    const folder = packagePattern.exec(file)?.[0];
    if (folder === undefined) continue;
    const manifest: unknown = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
    const { version } = manifest as { readonly version?: unknown };
    if (typeof version === "string") return version;
  }
  return null;
}

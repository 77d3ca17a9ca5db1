/**
 * Opens the file: it must be a Pawl store, only its owner may read it, and its journal mode must be safe with this SQLite.
 */
import { chmodSync, closeSync, existsSync, lstatSync, mkdirSync, openSync, realpathSync } from "node:fs";
import { dirname } from "node:path";
import { PawlError } from "../../errors.js";
import { inTransaction, isBusy, parseVersion, type SqliteHandle } from "./driver.js";
import { applicationId, createTables, firstTablesVersion, tablesVersion, updateTables } from "./schema.js";

export type Synchronous = "full" | "normal";

/**
 * Creates the file and its folder if they do not exist, accessible only to their owner.
 *
 * @returns the target if the path is a link: SQLite names its other files (`-wal`) after the target, not after the link
 */
export function createFile(file: string): string {
  createFolder(dirname(file));
  try {
    closeSync(openSync(file, "ax", 0o600));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
  if (!lstatSync(file).isSymbolicLink()) return file;
  // The link points to a file that does not exist yet.
  if (!existsSync(file)) closeSync(openSync(file, "a", 0o600));
  return realpathSync(file);
}

/** Creates folders one by one. Node's recursive `mkdirSync` never returns in locations such as /proc where no folder can be created. */
function createFolder(folder: string): void {
  if (existsSync(folder)) return;
  createFolder(dirname(folder));
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    // Another process has created the folder meanwhile.
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
}

/** Makes the database files private. SQLite gives the files that it adds the mode of the main file. */
export function protectFiles(file: string): void {
  for (const suffix of ["", "-journal", "-wal", "-shm"]) {
    const path = `${file}${suffix}`;
    if (existsSync(path)) chmodSync(path, 0o600);
  }
}

/** The path of a handle's file; empty for a database in memory. */
export function findHandlePath(handle: SqliteHandle): string {
  return readTextColumn(handle.prepare("PRAGMA database_list").get(), "file");
}

export type PrepareOptions = {
  readonly synchronous: Synchronous;
  /** If SQLite cannot make checkpoints safely, the caller makes them under the write lock (see `checkpoints.ts`). */
  readonly guardsCheckpoints: boolean;
};

/**
 * Creates the tables in an empty file, and updates the tables of an earlier release. Any other file must be a Pawl store that is writable
 * and has tables of a known version. Throws if the database is busy, without a retry.
 *
 * @returns whether the caller must make the checkpoints
 */
export function prepareFile(handle: SqliteHandle, file: string, options: PrepareOptions): boolean {
  const { synchronous, guardsCheckpoints } = options;
  handle.exec("PRAGMA busy_timeout = 0");
  const isSafe = isWalSafe(readTextColumn(handle.prepare("SELECT sqlite_version() AS version").get(), "version"));
  const isNew = inTransaction(handle, "read", () => identifyFile(handle, file)) === "empty";
  const journal = chooseJournalMode(handle, file, { isNew, allowsWal: isSafe || guardsCheckpoints });
  const needsGuard = journal === "wal" && !isSafe;
  if (needsGuard) handle.exec("PRAGMA wal_autocheckpoint = 0");
  handle.exec(`PRAGMA synchronous = ${synchronous}`);
  // Overwrite deleted rows, which may have contained secrets.
  handle.exec("PRAGMA secure_delete = ON");
  inTransaction(handle, "write", () => {
    // Another process may have created or updated the tables meanwhile.
    const found = identifyFile(handle, file);
    if (found === "empty") handle.exec(createTables);
    else if (found < tablesVersion) handle.exec(updateTables(found));
    else checkWritable(handle);
  });
  return needsGuard;
}

/** Checks now, rather than at the first commit, whether the database is writable. The probe leaves nothing behind. */
function checkWritable(handle: SqliteHandle): void {
  handle.exec("SAVEPOINT probe");
  handle.exec("UPDATE store SET epoch = epoch");
  handle.exec("ROLLBACK TO probe");
  handle.exec("RELEASE probe");
}

/** Returns the version of the tables, or `empty`. @throws PawlError `store_open`, `newer_format`, `older_format` */
function identifyFile(handle: SqliteHandle, file: string): "empty" | number {
  const id = readNumberColumn(handle.prepare("PRAGMA application_id").get(), "application_id");
  const version = readNumberColumn(handle.prepare("PRAGMA user_version").get(), "user_version");
  const tables = readNumberColumn(handle.prepare("SELECT count(*) AS count FROM sqlite_schema").get(), "count");
  if (tables === 0 && id === 0 && version === 0) return "empty";
  if (id !== applicationId)
    throw new PawlError(
      "store_open",
      `${file} is the database of another program. It was not changed. Choose another file.`,
    );
  if (version > tablesVersion)
    throw new PawlError(
      "newer_format",
      `The store ${file} was created by a later version of Pawl (tables ${version}, known up to ${tablesVersion}). Update Pawl to use it.`,
    );
  if (version < firstTablesVersion)
    throw new PawlError(
      "older_format",
      `The store ${file} was created by a version of Pawl before its first release (tables ${version}; this version reads tables ${firstTablesVersion} and later). It was not changed. Finish its sessions with the version that created it, or move the file away and start with a new one.`,
    );
  return version;
}

/**
 * If checkpoints are safe, a new file gets a write-ahead log, and a file with such a log keeps it. Otherwise the file is switched back to a
 * rollback journal. An existing file is never switched to a write-ahead log, because a process that must not use one may have the file
 * open.
 */
function chooseJournalMode(
  handle: SqliteHandle,
  file: string,
  { isNew, allowsWal }: { readonly isNew: boolean; readonly allowsWal: boolean },
): string {
  const current = readJournalMode(handle);
  if (current === "memory" || (current === "wal" && allowsWal)) return current;
  const chosen = setJournalMode(handle, isNew && allowsWal ? "wal" : "truncate");
  if (chosen === "wal" && !allowsWal)
    throw new PawlError(
      "store_open",
      `The store ${file} is open in another process with a write-ahead log, which the SQLite of this handle (before 3.51.3) cannot share safely. Leave out \`database\`, so that Pawl opens the file itself, or end the other process first.`,
    );
  return chosen;
}

function setJournalMode(handle: SqliteHandle, mode: "wal" | "truncate"): string {
  try {
    handle.exec(`PRAGMA journal_mode = ${mode}`);
  } catch (error) {
    // Other processes have the file open, so its journal mode stays.
    if (!isBusy(error)) throw error;
  }
  return readJournalMode(handle);
}

function readJournalMode(handle: SqliteHandle): string {
  return inTransaction(handle, "read", () =>
    readTextColumn(handle.prepare("PRAGMA journal_mode").get(), "journal_mode"),
  );
}

/**
 * From SQLite 3.51.3 on, a checkpoint notices that a writer has restarted the log. Earlier versions could copy frames that no longer exist,
 * and damage the file (https://sqlite.org/wal.html#walresetbug).
 */
export function isWalSafe(version: string): boolean {
  const [major = 0, minor = 0, patch = 0] = parseVersion(version);
  return major > 3 || (major === 3 && (minor > 51 || (minor === 51 && patch >= 3)));
}

function readTextColumn(row: unknown, column: string): string {
  const value = (row as { readonly [column: string]: unknown } | undefined)?.[column];
  return typeof value === "string" ? value : "";
}

function readNumberColumn(row: unknown, column: string): number {
  const value = (row as { readonly [column: string]: unknown } | undefined)?.[column];
  return typeof value === "number" ? value : 0;
}

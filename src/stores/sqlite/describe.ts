/**
 * Describes a database file for troubleshooting: the library that opens it, and its formats.
 */
import { openHandle } from "./driver.js";
import { prepareFile } from "./file.js";
import { statements } from "./schema.js";

/** A description of a database file. */
export type SqliteDescription = {
  /** The library that opens the file. */
  readonly driver: "node:sqlite" | "libsql";
  /** The version of SQLite. */
  readonly version: string;
  /** `wal`, or `truncate` if the file was created without a write-ahead log. */
  readonly journal: string;
  /** The version of the tables. */
  readonly tables: number;
  /** The format of the newest row in all logs; null if no session has a log. */
  readonly format: number | null;
};

/** Opens a store's file and describes it. Throws the errors of `openSqliteStore`, and SQLite's own errors. */
export async function describeSqlite(path: string): Promise<SqliteDescription> {
  const handle = await openHandle(path);
  try {
    // The journal mode of a connection is chosen when the connection is prepared, and may differ from the mode in the file.
    prepareFile(handle, path, { synchronous: "full", guardsCheckpoints: true });
    const readFirstValue = (sql: string): unknown => Object.values((handle.prepare(sql).all()[0] ?? {}) as object)[0];
    const format = readFirstValue(statements.newestFormat);
    return {
      driver: handle.constructor.name === "DatabaseSync" ? "node:sqlite" : "libsql",
      version: String(readFirstValue("SELECT sqlite_version()")),
      journal: String(readFirstValue("PRAGMA journal_mode")),
      tables: Number(readFirstValue("PRAGMA user_version")),
      format: format === undefined ? null : Number(format),
    };
  } finally {
    handle.close();
  }
}

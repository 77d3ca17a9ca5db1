/**
 * Which SQLite a file is opened with: for those who look for the cause of something.
 */
import { openHandle } from "./driver.js";
import { prepareFile } from "./file.js";

export type SqliteDescription = {
  readonly driver: "node:sqlite" | "libsql";
  readonly version: string;
  /** `wal`, or `truncate` where the file was made without a write-ahead log. */
  readonly journal: string;
};

/** Opens a store's file for a look. Throws what `openSqliteStore` throws, and SQLite's own errors. */
export async function describeSqlite(path: string): Promise<SqliteDescription> {
  const handle = await openHandle(path);
  try {
    // The journal of a connection is chosen when it is made ready, and need not be what the file says.
    prepareFile(handle, path, { synchronous: "full", guardsCheckpoints: true });
    const first = (sql: string) => String(Object.values(handle.prepare(sql).get() as object)[0]);
    return {
      driver: handle.constructor.name === "DatabaseSync" ? "node:sqlite" : "libsql",
      version: first("SELECT sqlite_version()"),
      journal: first("PRAGMA journal_mode"),
    };
  } finally {
    handle.close();
  }
}

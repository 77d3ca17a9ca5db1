/**
 * Ways to open stores in tests: files in a folder of their own, removed afterwards.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Libsql from "libsql";
import type { Store } from "../../src/ports/store.js";
import { openHandle } from "../../src/stores/sqlite/driver.js";
import { openSqliteStore, type SqliteHandle, type SqliteOptions } from "../../src/stores/sqlite/index.js";
import type { StoreUnderTest } from "../../src/testing/store-conformance.js";

type FileOptions = Omit<SqliteOptions, "path" | "database">;

/** A SQLite store in a new file, with as many more handles on it as are asked for. */
export async function openFileStore(options: FileOptions = {}): Promise<StoreUnderTest & { readonly path: string }> {
  const folder = createTempFolder();
  const path = join(folder, "sessions.db");
  const stores: Store[] = [];
  const open = async (): Promise<Store> => {
    const store = await openSqliteStore({ path, pollMs: 10, ...options });
    stores.push(store);
    return store;
  };
  const store = await open();
  return {
    path,
    store,
    second: open,
    reopen: async () => {
      await store.close();
      return await open();
    },
    close: async () => {
      for (const opened of stores) await opened.close();
      rmSync(folder, { recursive: true });
    },
  };
}

/** A store over a handle that the caller opened: the package `libsql`, whatever SQLite this Node has. */
export async function openWithLibsql(): Promise<StoreUnderTest> {
  const handle: SqliteHandle = new Libsql(":memory:");
  const store = await openSqliteStore({ database: handle });
  return {
    store,
    close: async () => {
      await store.close();
      handle.close();
    },
  };
}

export function createTempFolder(): string {
  return mkdtempSync(join(tmpdir(), "pawl-store-"));
}

/** Runs work with a new folder, and removes it. */
export async function withTempFolder(work: (folder: string) => Promise<void>): Promise<void> {
  const folder = createTempFolder();
  try {
    await work(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Runs SQL on a file from outside. */
export async function withHandle<Result>(path: string, work: (handle: SqliteHandle) => Result): Promise<Result> {
  const handle = await openHandle(path);
  try {
    return work(handle);
  } finally {
    handle.close();
  }
}

/**
 * Ways to open stores in tests: files in a folder of their own, removed afterwards.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Libsql from "libsql";
import type { Store } from "../../src/ports/store.js";
import { openSqliteStore, type SqliteHandle, type SqliteOptions } from "../../src/stores/sqlite.js";
import { openHandle } from "../../src/stores/sqlite-driver.js";
import type { StoreUnderTest } from "../../src/testing/store-conformance.js";

type FileOptions = Omit<SqliteOptions, "path" | "database">;

/** A SQLite store in a new file, with as many more handles on it as are asked for. */
export async function openFile(options: FileOptions = {}): Promise<StoreUnderTest & { readonly path: string }> {
  const folder = newFolder();
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
      for (const each of stores) await each.close();
      rmSync(folder, { recursive: true });
    },
  };
}

/** Stores over handles that the caller opened: the package `libsql`, whatever SQLite this Node has. */
export async function openWithLibsql(): Promise<StoreUnderTest> {
  const folder = newFolder();
  const handles: SqliteHandle[] = [];
  const open = async (): Promise<Store> => {
    const handle: SqliteHandle = new Libsql(join(folder, "sessions.db"));
    handles.push(handle);
    return await openSqliteStore({ database: handle, synchronous: "normal", pollMs: 10 });
  };
  const store = await open();
  return {
    store,
    second: open,
    close: async () => {
      await store.close();
      for (const handle of handles) handle.close();
      rmSync(folder, { recursive: true });
    },
  };
}

export function newFolder(): string {
  return mkdtempSync(join(tmpdir(), "pawl-store-"));
}

/** Runs work with a new folder, and removes it. */
export async function inFolder(work: (folder: string) => Promise<void>): Promise<void> {
  const folder = newFolder();
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

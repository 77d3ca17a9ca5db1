import { describe, expect, test } from "vitest";
import { findKnownCrash, isBusy, openHandle, sqliteCode } from "../../src/stores/sqlite/driver.js";
import { openSqliteStore } from "../../src/stores/sqlite/index.js";
import { createHeldSession } from "../../src/testing/conformance/bench.js";
import { verifies } from "../verifies.js";

describe("better-sqlite3", () => {
  test("is refused where it is known to bring Node down", verifies("STOR-4"), () => {
    const bad = [
      ["12.4.1", "24.19.0"],
      ["12.0.0", "24.21.0"],
      ["12.9.0", "26.1.0"],
      ["13.0.0", "20.19.5"],
    ] as const;
    for (const [version, node] of bad) expect(findKnownCrash(version, node)).toContain(`better-sqlite3 ${version}`);
  });
  test("is accepted elsewhere", () => {
    const good = [
      ["12.4.1", "24.18.0"],
      ["12.4.1", "22.20.0"],
      ["13.0.0", "22.13.0"],
      ["13.0.0", "24.21.0"],
      ["11.9.0", "24.21.0"],
    ] as const;
    for (const [version, node] of good) expect(findKnownCrash(version, node)).toBeNull();
  });
});

describe("errors of SQLite", () => {
  test("are told apart, whichever library raised them", () => {
    const raised = (fields: object): Error => Object.assign(new Error("database is locked"), fields);
    expect(isBusy(raised({ code: "ERR_SQLITE_ERROR", errcode: 5 }))).toBe(true);
    expect(isBusy(raised({ code: "SQLITE_BUSY", rawCode: 5 }))).toBe(true);
    expect(isBusy(raised({ code: "SQLITE_BUSY" }))).toBe(true);
    expect(isBusy(raised({ code: "SQLITE_BUSY_SNAPSHOT" }))).toBe(true);
    expect(isBusy(raised({ errcode: 517 }))).toBe(true);
    expect(isBusy(raised({ code: "SQLITE_FULL" }))).toBe(false);
    expect(sqliteCode(raised({ code: "SQLITE_CORRUPT_INDEX" }))).toBe(11);
    expect(sqliteCode(new Error("database is locked"))).toBeNull();
    expect(sqliteCode("SQLITE_BUSY")).toBeNull();
  });
  test("of the library at hand are among them", async () => {
    const handle = await openHandle(":memory:");
    let error: unknown;
    try {
      handle.exec("PRAGMA max_page_count = 1; CREATE TABLE a (b); CREATE TABLE c (d)");
    } catch (reason) {
      error = reason;
    }
    expect(sqliteCode(error)).toBe(13);
    handle.close();
  });
});

test("closing a store leaves the handle that it was given open", async () => {
  const handle = await openHandle(":memory:");
  const store = await openSqliteStore({ database: handle });
  await createHeldSession(store, 2);
  await store.close();
  expect(handle.prepare("SELECT count(*) AS count FROM commits").get()).toMatchObject({ count: 2 });
  handle.close();
});

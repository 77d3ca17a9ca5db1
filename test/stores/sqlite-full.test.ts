/**
 * A disk that is full: `max_page_count` bounds the file just as the end of the disk does.
 */
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { Store } from "../../src/ports/store.js";
import { openHandle } from "../../src/stores/sqlite/driver.js";
import { openSqliteStore, type SqliteHandle } from "../../src/stores/sqlite/index.js";
import {
  claim,
  commit,
  createCommit,
  createMessage,
  createTextEvent,
  expectLog,
} from "../../src/testing/conformance/bench.js";
import { verifies } from "../verifies.js";
import { withTempFolder } from "./open.js";

async function onSmallDisk(work: (store: Store, handle: SqliteHandle) => Promise<void>): Promise<void> {
  await withTempFolder(async (folder) => {
    const handle = await openHandle(join(folder, "sessions.db"));
    const store = await openSqliteStore({ database: handle });
    handle.prepare("PRAGMA max_page_count = 60").get();
    await work(store, handle);
    await store.close();
    handle.close();
  });
}

const large = { events: [createTextEvent("x".repeat(900_000))] };

describe("a full disk", () => {
  test("fails a commit, and nothing of it is written", verifies("STOR-4", "REC-2"), async () => {
    await onSmallDisk(async (store, handle) => {
      const lease = await claim(store);
      await commit(store, lease, 0);
      await store.post("s", createMessage("m"));
      const whole = createCommit(1, { ...large, consume: ["m"], record: ["n"] });
      await expect(store.commit(lease, whole)).rejects.toMatchObject({
        code: "store_failed",
        message: expect.stringMatching(/sessions\.db is full/),
      });
      await expectLog(store, 1);
      expect(await store.inbox("s")).toHaveLength(1);
      expect(await store.verify()).toEqual([]);
      handle.prepare("PRAGMA max_page_count = 10000").get();
      expect(await store.commit(lease, whole)).toEqual({ type: "ok", seq: 2 });
    });
  });

  test("fails only those of a group that do not fit", verifies("STOR-4", "REC-1"), async () => {
    await onSmallDisk(async (store) => {
      const ids = ["a", "b", "c", "d"];
      const leases = await Promise.all(ids.map((id) => claim(store, id)));
      const results = await Promise.allSettled(
        leases.map((lease, index) => store.commit(lease, createCommit(0, index === 2 ? large : {}))),
      );
      expect(results.map((result) => (result.status === "fulfilled" ? result.value : result.reason.code))).toEqual([
        { type: "ok", seq: 1 },
        { type: "ok", seq: 1 },
        "store_failed",
        { type: "ok", seq: 1 },
      ]);
      for (const [index, id] of ids.entries()) await expectLog(store, index === 2 ? 0 : 1, id);
    });
  });

  test("fails a message and a blob too", verifies("STOR-4"), async () => {
    await onSmallDisk(async (store) => {
      await claim(store);
      const blob = store.putBlob("s", new Uint8Array(2_000_000));
      await expect(blob).rejects.toMatchObject({ code: "store_failed" });
      const post = store.post("s", createMessage("m", 1, "x".repeat(900_000)));
      await expect(post).rejects.toMatchObject({ code: "store_failed" });
      expect(await store.inbox("s")).toEqual([]);
    });
  });
});

test("a database that becomes read-only fails a commit", verifies("STOR-4"), async () => {
  await withTempFolder(async (folder) => {
    const handle = await openHandle(join(folder, "sessions.db"));
    const store = await openSqliteStore({ database: handle });
    const lease = await claim(store);
    handle.exec("PRAGMA query_only = ON");
    await expect(store.commit(lease, createCommit(0))).rejects.toMatchObject({
      code: "store_failed",
      message: expect.stringContaining("read-only"),
    });
    await expect(openSqliteStore({ database: handle })).rejects.toMatchObject({ code: "store_open" });
    handle.exec("PRAGMA query_only = OFF");
    expect(await commit(store, lease, 0)).toBe(1);
    await store.close();
    handle.close();
  });
});

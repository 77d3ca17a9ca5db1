import { existsSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { isHolderDead } from "../../src/platform/holder.js";
import type { Store } from "../../src/ports/store.js";
import { openSqliteStore } from "../../src/stores/sqlite/index.js";
import { bob, claim, commit, createCommit, createMessage, leaseMs, t0 } from "../../src/testing/conformance/bench.js";
import { verifies } from "../verifies.js";
import { type Child, compileStores, createFileInChild, startChild, tempFolder } from "./children.js";
import { withTempFolder } from "./open.js";

let compiled = "";
beforeAll(() => {
  compiled = compileStores(tempFolder);
});
afterAll(() => {
  rmSync(compiled, { recursive: true });
});

async function withStore(work: (store: Store, path: string) => Promise<void>, busyMs = 5000): Promise<void> {
  await withTempFolder(async (folder) => {
    const path = join(folder, "sessions.db");
    const store = await openSqliteStore({ path, busyMs });
    try {
      await work(store, path);
    } finally {
      await store.close();
    }
  });
}

async function lock(path: string, sql: string): Promise<Child> {
  const child = startChild("locker", compiled, path, sql);
  expect(await child.line()).toBe("locked");
  return child;
}

describe("another process holds the lock", () => {
  test("a commit waits for it, and other work goes on meanwhile", verifies("STOR-4"), async () => {
    await withStore(async (store, path) => {
      const lease = await claim(store);
      const child = await lock(path, "BEGIN IMMEDIATE");
      let isCommitted = false;
      const committed = store.commit(lease, createCommit(0)).then((result) => {
        isCommitted = true;
        return result;
      });
      for (let turn = 0; turn < 100; turn++) await new Promise((resolve) => setImmediate(resolve));
      expect(isCommitted).toBe(false);
      child.writeLine("let go");
      expect(await committed).toEqual({ type: "ok", seq: 1 });
      expect(await child.ended).toBe(0);
    });
  });

  test(
    "a commit is busy when it waited long enough, and nothing was written",
    verifies("STOR-4", "REC-2"),
    async () => {
      await withStore(async (store, path) => {
        const lease = await claim(store);
        const child = await lock(path, "BEGIN IMMEDIATE");
        expect(await store.commit(lease, createCommit(0))).toEqual({ type: "busy" });
        expect(await store.release(lease)).toEqual({ type: "busy" });
        await expect(store.claim("t", { holder: bob, now: t0, leaseMs })).rejects.toMatchObject({
          code: "store_failed",
        });
        child.writeLine("let go");
        await child.ended;
        expect(await store.read("s")).toEqual([]);
        expect(await commit(store, lease, 0)).toBe(1);
      }, 20);
    },
  );

  test("what is read waits for an exclusive lock, and then says so", verifies("STOR-4"), async () => {
    await withTempFolder(async (folder) => {
      const path = join(folder, "sessions.db");
      // A rollback journal: only there a writer shuts readers out.
      await createFileInChild(compiled, path);
      const child = await lock(path, "PRAGMA journal_mode = DELETE; BEGIN EXCLUSIVE");
      await expect(openSqliteStore({ path, busyMs: 20 })).rejects.toMatchObject({
        code: "store_open",
        message: expect.stringContaining(path),
      });
      child.writeLine("let go");
      await child.ended;
      const store = await openSqliteStore({ path, busyMs: 20 });
      const lease = await claim(store);
      const again = await lock(path, "BEGIN EXCLUSIVE");
      await expect(store.load("s")).rejects.toMatchObject({ code: "store_failed" });
      again.writeLine("let go");
      await again.ended;
      expect(await store.load("s")).toBeNull();
      expect(await commit(store, lease, 0)).toBe(1);
      await store.close();
    });
  });

  test("who met a lock holds none himself afterwards", verifies("STOR-4"), async () => {
    await withStore(async (store, path) => {
      const lease = await claim(store);
      const first = await lock(path, "BEGIN IMMEDIATE");
      expect(await store.commit(lease, createCommit(0))).toEqual({ type: "busy" });
      first.writeLine("let go");
      await first.ended;
      const second = await lock(path, "BEGIN EXCLUSIVE");
      second.writeLine("let go");
      expect(await second.ended).toBe(0);
    }, 20);
  });
});

/** A file with a rollback journal: only there a writer shuts readers out. */
async function createRollbackFile(folder: string): Promise<string> {
  const path = join(folder, "sessions.db");
  await createFileInChild(compiled, path);
  const child = await lock(path, "PRAGMA journal_mode = DELETE; BEGIN EXCLUSIVE");
  child.writeLine("let go");
  await child.ended;
  return path;
}

describe("after another process held the lock", () => {
  test("what is read and posted belongs to the session that was asked for", verifies("STOR-4", "STOR-2"), async () => {
    await withTempFolder(async (folder) => {
      const path = await createRollbackFile(folder);
      const store = await openSqliteStore({ path, busyMs: 20 });
      for (const id of ["a", "b"]) await store.post(id, createMessage(`for ${id}`));
      await commit(store, await claim(store, "a"), 0);
      const child = await lock(path, "BEGIN EXCLUSIVE");
      await expect(store.load("a")).rejects.toMatchObject({ code: "store_failed" });
      await expect(store.inbox("a")).rejects.toMatchObject({ code: "store_failed" });
      await expect(store.getBlob("a", "00")).rejects.toMatchObject({ code: "store_failed" });
      child.writeLine("let go");
      await child.ended;
      expect(await store.load("b")).toBeNull();
      expect((await store.inbox("b")).map(({ id }) => id)).toEqual(["for b"]);
      expect(await store.post("c", createMessage("for c"))).toEqual({ type: "posted" });
      expect((await store.inbox("c")).map(({ id }) => id)).toEqual(["for c"]);
      expect((await store.inbox("a")).map(({ id }) => id)).toEqual(["for a"]);
      await store.close();
    });
  });

  test("who met it keeps nobody else out by what it writes next", verifies("STOR-4"), async () => {
    await withTempFolder(async (folder) => {
      const path = await createRollbackFile(folder);
      const store = await openSqliteStore({ path, busyMs: 20 });
      const other = await openSqliteStore({ path, busyMs: 20 });
      const lease = await claim(store);
      let seq = 0;
      for (const meet of [() => store.load("s"), () => store.due(t0, 10), () => store.renew([lease], t0, leaseMs)]) {
        const child = await lock(path, "BEGIN EXCLUSIVE");
        await expect(meet()).rejects.toMatchObject({ code: "store_failed" });
        child.writeLine("let go");
        await child.ended;
        seq = await commit(store, lease, seq);
        expect(await other.post("s", createMessage(`after ${seq}`))).toEqual({ type: "posted" });
      }
      await Promise.all([store.close(), other.close()]);
    });
  });
});

describe("several processes", () => {
  test("what others post arrives once, while the holder commits", verifies("STOR-2"), async () => {
    await withStore(async (store, path) => {
      const lease = await claim(store);
      const posters = ["a", "b"].map((prefix) => startChild("poster", compiled, path, prefix, "25"));
      let isOver = false;
      const ended = Promise.all(posters.map((poster) => poster.ended)).finally(() => {
        isOver = true;
      });
      const consumed: string[] = [];
      let seq = 0;
      while (!isOver || (await store.inbox("s")).length > 0) {
        const ids = (await store.inbox("s")).map((message) => message.id);
        seq = await commit(store, lease, seq, { consume: ids });
        consumed.push(...ids);
      }
      expect(await ended).toEqual([0, 0]);
      const all = ["a", "b"].flatMap((prefix) => Array.from({ length: 25 }, (_, index) => `${prefix}${index}`));
      expect([...consumed].sort()).toEqual([...all].sort());
      for (const poster of posters) for (let index = 0; index < 25; index++) expect(await poster.line()).toBe("1");
    });
  });

  test(
    "one that is killed while it commits loses nothing that was acknowledged",
    verifies("REC-1", "REC-9"),
    async () => {
      await withTempFolder(async (folder) => {
        const path = join(folder, "sessions.db");
        const child = startChild("committer", compiled, path);
        let acknowledged = 0;
        while (acknowledged < 60) acknowledged = Number(await child.line());
        child.process.kill("SIGKILL");
        // Lines that it printed before it died are acknowledgements too.
        for (;;) {
          const line = await child.line().catch(() => null);
          if (line === null) break;
          acknowledged = Number(line);
        }
        await child.ended;

        const store = await openSqliteStore({ path });
        expect(await store.verify()).toEqual([]);
        const entries = await store.read("s");
        expect(entries.length).toBeGreaterThanOrEqual(acknowledged);
        expect(entries.map((entry) => entry.seq)).toEqual(entries.map((_, index) => index + 1));
        // At once, though its lease has not run out: its holder is known to be dead.
        const claimed = await store.claim("s", { holder: bob, now: t0, leaseMs, isDead: isHolderDead });
        expect(claimed).toMatchObject({ type: "claimed", seq: entries.length });
        await store.close();
      });
    },
  );

  test("one that lives is not taken for dead", verifies("REC-9"), async () => {
    await withTempFolder(async (folder) => {
      const path = join(folder, "sessions.db");
      const child = startChild("committer", compiled, path);
      await child.line();
      const store = await openSqliteStore({ path });
      const result = await store.claim("s", { holder: bob, now: t0, leaseMs, isDead: isHolderDead });
      expect(result.type).toBe("held");
      child.process.kill("SIGKILL");
      await child.ended;
      await store.close();
    });
  });
});

describe("opening in a process of its own", () => {
  test("prints nothing", verifies("STOR-4"), async () => {
    await withTempFolder(async (folder) => {
      const child = startChild("opener", compiled, join(folder, "deep", "down", "sessions.db"));
      expect(await child.line()).toBe("open");
      expect(await child.ended).toBe(0);
      expect(child.errors()).toBe("");
      expect(existsSync(join(folder, "deep", "down", "sessions.db"))).toBe(true);
    });
  });

  test("where there is no SQLite, the package to install is named", verifies("STOR-4"), async () => {
    await withTempFolder(async (folder) => {
      mkdirSync(join(folder, "elsewhere"));
      // Below the system's folder for temporary files no package is found.
      const child = startChild("opener", compileStores(join(folder, "elsewhere")), join(folder, "sessions.db"));
      const hasSqlite = process.getBuiltinModule?.("node:sqlite") !== undefined;
      expect(await child.line()).toMatch(hasSqlite ? /^open$/ : /^missing_package .*npm install libsql/);
      expect(await child.ended).toBe(0);
    });
  });
});

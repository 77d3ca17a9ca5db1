import { chmodSync, existsSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { formatVersion } from "../../src/core/state.js";
import { openSqliteStore } from "../../src/stores/sqlite.js";
import { isSafeWithWal } from "../../src/stores/sqlite-file.js";
import { applicationId } from "../../src/stores/sqlite-schema.js";
import {
  claim,
  commit,
  leaseMs,
  message,
  restingSession,
  sessionWith,
  t0,
} from "../../src/testing/conformance/bench.js";
import { verifies } from "../verifies.js";
import { beside, compileStores, start } from "./children.js";
import { inFolder, withHandle } from "./open.js";

function modeOf(path: string): string {
  return (statSync(path).mode & 0o777).toString(8);
}

async function make(path: string): Promise<void> {
  const store = await openSqliteStore({ path });
  await restingSession(store, "s");
  await store.close();
}

describe("files", () => {
  test(
    "are for their owner alone, and so is the folder that is made for them",
    verifies("STOR-4", "SEC-14"),
    async () => {
      await inFolder(async (folder) => {
        const path = join(folder, "new", "sessions.db");
        const store = await openSqliteStore({ path });
        await sessionWith(store, 2);
        expect(modeOf(join(folder, "new"))).toBe("700");
        const files = ["", "-journal", "-wal", "-shm"]
          .map((suffix) => `${path}${suffix}`)
          .filter((file) => existsSync(file));
        expect(files.length).toBeGreaterThanOrEqual(2);
        for (const file of files) expect([file, modeOf(file)]).toEqual([file, "600"]);
        await store.close();
      });
    },
  );

  test("that others could read are closed to them", verifies("STOR-4", "SEC-14"), async () => {
    await inFolder(async (folder) => {
      const path = join(folder, "sessions.db");
      await make(path);
      chmodSync(path, 0o644);
      await (await openSqliteStore({ path })).close();
      expect(modeOf(path)).toBe("600");
    });
  });

  test("may be empty", async () => {
    await inFolder(async (folder) => {
      const path = join(folder, "sessions.db");
      writeFileSync(path, "");
      await make(path);
      expect(readFileSync(path).subarray(0, 15).toString()).toBe("SQLite format 3");
    });
  });

  test("are made once, by however many open them at once", async () => {
    await inFolder(async (folder) => {
      const path = join(folder, "sessions.db");
      const stores = await Promise.all(Array.from({ length: 6 }, () => openSqliteStore({ path })));
      for (const [index, store] of stores.entries()) await sessionWith(store, 1, `s${index}`);
      for (const store of stores) expect(await store.list()).toHaveLength(6);
      for (const store of stores) await store.close();
    });
  });

  test("of a path that is no file are refused", verifies("STOR-4"), async () => {
    await inFolder(async (folder) => {
      await expect(openSqliteStore({ path: folder })).rejects.toMatchObject({
        code: "store_open",
        message: expect.stringContaining(folder),
      });
      const file = join(folder, "file");
      writeFileSync(file, "");
      await expect(openSqliteStore({ path: join(file, "below") })).rejects.toMatchObject({ code: "store_open" });
    });
  });

  test("that cannot be written are refused when they are opened", verifies("STOR-4"), async () => {
    await inFolder(async (folder) => {
      const path = join(folder, "sessions.db");
      await make(path);
      chmodSync(path, 0o444);
      chmodSync(folder, 0o555);
      // The superuser may write everything: be somebody else for a moment.
      const isSuperuser = process.geteuid?.() === 0;
      if (isSuperuser) process.seteuid?.(65534);
      try {
        await expect(openSqliteStore({ path })).rejects.toMatchObject({
          code: "store_open",
          message: expect.stringMatching(/sessions\.db .*(read-only|unable to open|writ)/),
        });
      } finally {
        if (isSuperuser) process.seteuid?.(0);
        chmodSync(folder, 0o700);
      }
    });
  });

  test("of another program are refused, and left as they are", verifies("STOR-4"), async () => {
    await inFolder(async (folder) => {
      const path = join(folder, "other.db");
      await withHandle(path, (handle) =>
        handle.exec("CREATE TABLE notes (text TEXT); INSERT INTO notes VALUES ('keep')"),
      );
      const before = readFileSync(path);
      await expect(openSqliteStore({ path })).rejects.toMatchObject({
        code: "store_open",
        message: expect.stringMatching(/another program/),
      });
      expect(readFileSync(path)).toEqual(before);
      expect(existsSync(`${path}-wal`)).toBe(false);
    });
  });

  test("that are no database are refused, and left as they are", verifies("STOR-4"), async () => {
    await inFolder(async (folder) => {
      const path = join(folder, "notes.txt");
      writeFileSync(path, "Dear diary, ".repeat(1000));
      chmodSync(path, 0o644);
      await expect(openSqliteStore({ path })).rejects.toMatchObject({
        code: "store_open",
        message: expect.stringMatching(/notes\.txt .*no SQLite database/),
      });
      expect(readFileSync(path, "utf8")).toBe("Dear diary, ".repeat(1000));
      expect(modeOf(path)).toBe("644");
    });
  });

  test("that a later version made are refused", verifies("STOR-4"), async () => {
    await inFolder(async (folder) => {
      const path = join(folder, "sessions.db");
      await make(path);
      await withHandle(path, (handle) => handle.exec("PRAGMA user_version = 99"));
      await expect(openSqliteStore({ path })).rejects.toMatchObject({ code: "newer_format" });
    });
  });

  test("cut in the middle are damaged", verifies("STOR-4"), async () => {
    await inFolder(async (folder) => {
      const path = join(folder, "sessions.db");
      const store = await openSqliteStore({ path });
      const lease = await claim(store);
      for (let seq = 0; seq < 200; seq++) await commit(store, lease, seq);
      await store.close();
      truncateSync(path, Math.floor(statSync(path).size / 2));
      const error = await openSqliteStore({ path })
        .then((opened) => opened.read("s"))
        .then(
          () => null,
          (reason: unknown) => reason,
        );
      expect(error).toMatchObject({ code: "store_corrupt", message: expect.stringContaining(path) });
    });
  });

  test("that are deleted leave nothing readable behind", verifies("SEC-14"), async () => {
    await inFolder(async (folder) => {
      const path = join(folder, "sessions.db");
      const store = await openSqliteStore({ path });
      await sessionWith(store, 1, "other");
      const lease = await claim(store);
      const secret = "the-secret-of-this-session";
      await commit(store, lease, 0, {
        activity: "resting",
        events: [{ type: "restarted", runId: "r", owner: secret, at: t0 }],
      });
      await store.putBlob("s", new TextEncoder().encode(secret));
      await store.post("s", message("m", t0, secret));
      await store.delete("s", { now: t0 + leaseMs });
      await store.close();
      expect(readFileSync(path).includes(secret)).toBe(false);
    });
  });
});

describe("what a later version wrote into a session", () => {
  test("is not claimed and not read, is listed, and can be posted to", verifies("STOR-4"), async () => {
    await inFolder(async (folder) => {
      const path = join(folder, "sessions.db");
      await make(path);
      await withHandle(path, (handle) => handle.exec(`UPDATE commits SET v = ${formatVersion + 1}`));
      const store = await openSqliteStore({ path });
      await expect(claim(store)).rejects.toMatchObject({ code: "newer_format" });
      await expect(store.load("s")).rejects.toMatchObject({ code: "newer_format" });
      await expect(store.read("s")).rejects.toMatchObject({ code: "newer_format" });
      expect(await store.list()).toMatchObject([{ sessionId: "s", info: null, status: "completed", holder: null }]);
      expect(await store.post("s", message("m"))).toEqual({ type: "posted" });
      expect(await store.verify()).toMatchObject([{ sessionId: "s", what: expect.stringContaining("later version") }]);
      await store.close();
    });
  });
});

describe("the journal", () => {
  let compiled = "";
  beforeAll(() => {
    compiled = compileStores(beside);
  });
  afterAll(() => {
    rmSync(compiled, { recursive: true });
  });
  async function journalOf(path: string): Promise<string> {
    return await withHandle(path, (handle) => JSON.stringify(handle.prepare("PRAGMA journal_mode").get()));
  }
  async function isModern(): Promise<boolean> {
    return await withHandle(":memory:", (handle) => {
      const row = handle.prepare("SELECT sqlite_version() AS version").get() as { readonly version: string };
      return isSafeWithWal(row.version);
    });
  }

  test("is a write-ahead log only from SQLite 3.51.3 on", () => {
    for (const version of ["3.51.3", "3.51.10", "3.52.0", "4.0.0"]) expect(isSafeWithWal(version)).toBe(true);
    for (const version of ["3.45.1", "3.51.2", "3.50.9", "3.7.17"]) expect(isSafeWithWal(version)).toBe(false);
  });

  test("of a new file is the one that its SQLite is safe with", async () => {
    await inFolder(async (folder) => {
      const path = join(folder, "sessions.db");
      await make(path);
      expect(await journalOf(path)).toContain((await isModern()) ? "wal" : "delete");
    });
  });

  test("is not changed by a newer SQLite: an older one may have the file open", async () => {
    await inFolder(async (folder) => {
      const path = join(folder, "sessions.db");
      await make(path);
      await withHandle(path, (handle) => handle.prepare("PRAGMA journal_mode = DELETE").get());
      await make(path.replace("sessions", "other"));
      const store = await openSqliteStore({ path });
      await sessionWith(store, 1, "t");
      await store.close();
      expect(await journalOf(path)).not.toContain("wal");
    });
  });

  test("is turned back by an older SQLite, or refused while another process uses it", async () => {
    await inFolder(async (folder) => {
      const path = join(folder, "sessions.db");
      await make(path);
      const other = start("locker", compiled, path, "PRAGMA journal_mode = WAL; BEGIN; SELECT * FROM store");
      await other.line();
      const meanwhile = start("opener", compiled, path);
      expect(await meanwhile.line()).toMatch((await isModern()) ? /^open$/ : /^store_open .* open in another process/);
      await meanwhile.ended;
      other.say("let go");
      await other.ended;
      const afterwards = start("opener", compiled, path);
      expect(await afterwards.line()).toBe("open");
      await afterwards.ended;
      expect((await journalOf(path)).includes("wal")).toBe(await isModern());
    });
  });
});

test("the file names Pawl", async () => {
  await inFolder(async (folder) => {
    const path = join(folder, "sessions.db");
    await make(path);
    expect(readFileSync(path).readUInt32BE(68)).toBe(applicationId);
    expect(readFileSync(path).subarray(68, 72).toString()).toBe("Pawl");
  });
});

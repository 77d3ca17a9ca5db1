import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import Libsql from "libsql";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { formatVersion, initialFormat } from "../../src/core/machine/state.js";
import { createAgent } from "../../src/index.js";
import { createCheckpoints } from "../../src/stores/sqlite/checkpoints.js";
import { isWalSafe, prepareFile } from "../../src/stores/sqlite/file.js";
import { describeSqlite, openSqliteStore, type SqliteHandle } from "../../src/stores/sqlite/index.js";
import { applicationId, tablesVersion } from "../../src/stores/sqlite/schema.js";
import {
  claim,
  commit,
  createHeldSession,
  createMessage,
  createRestingSession,
  createTextEvent,
  leaseMs,
  t0,
} from "../../src/testing/conformance/bench.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import { verifies } from "../verifies.js";
import { compileStores, createFileInChild, startChild, tempFolder } from "./children.js";
import { createTempFolder, withHandle, withTempFolder } from "./open.js";

function modeOf(path: string): string {
  return (statSync(path).mode & 0o777).toString(8);
}

async function make(path: string): Promise<void> {
  const store = await openSqliteStore({ path });
  await createRestingSession(store, "s");
  await store.close();
}

describe("files", () => {
  test(
    "are for their holder alone, and so is the folder that is made for them",
    verifies("STOR-4", "SEC-14"),
    async () => {
      await withTempFolder(async (folder) => {
        const path = join(folder, "new", "sessions.db");
        const store = await openSqliteStore({ path });
        await createHeldSession(store, 2);
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
    await withTempFolder(async (folder) => {
      const path = join(folder, "sessions.db");
      await make(path);
      chmodSync(path, 0o644);
      await (await openSqliteStore({ path })).close();
      expect(modeOf(path)).toBe("600");
    });
  });

  test.each(["exists", "does not exist yet"])(
    "that a link leads to are for their holder alone, and what is redacted is overwritten in them, if the file %s",
    verifies("STOR-4", "SEC-14"),
    async (when) => {
      await withTempFolder(async (folder) => {
        const [link, real] = [join(folder, "link.db"), join(folder, "real", "sessions.db")];
        mkdirSync(join(folder, "real"));
        symlinkSync(join("real", "sessions.db"), link);
        if (when === "exists") {
          await make(real);
          chmodSync(real, 0o644);
        }
        const store = await openSqliteStore({ path: link });
        const agent = createAgent({ model: createScriptedModel([{ text: "It is hunter2-in-a-row." }]), store });
        const session = agent.session("leaky");
        await agent.run("What is it?", { sessionId: "leaky" });
        const text = () =>
          readdirSync(join(folder, "real"))
            .map((file) => readFileSync(join(folder, "real", file), "latin1"))
            .join("");
        expect(text()).toContain("hunter2");
        for (const file of readdirSync(join(folder, "real")))
          expect([file, modeOf(join(folder, "real", file))]).toEqual([file, "600"]);
        await session.redact({ text: "hunter2-in-a-row" });
        expect(text()).not.toContain("hunter2");
        expect(readdirSync(folder).sort()).toEqual(["link.db", "real"]);
        await store.close();
      });
    },
  );

  test("may be empty", async () => {
    await withTempFolder(async (folder) => {
      const path = join(folder, "sessions.db");
      writeFileSync(path, "");
      await make(path);
      expect(readFileSync(path).subarray(0, 15).toString()).toBe("SQLite format 3");
    });
  });

  test("are made once, by however many open them at once", async () => {
    await withTempFolder(async (folder) => {
      const path = join(folder, "sessions.db");
      const stores = await Promise.all(Array.from({ length: 6 }, () => openSqliteStore({ path })));
      for (const [index, store] of stores.entries()) await createHeldSession(store, 1, `s${index}`);
      for (const store of stores) expect(await store.list()).toHaveLength(6);
      for (const store of stores) await store.close();
    });
  });

  test("of a path that is no file are refused", verifies("STOR-4"), async () => {
    await withTempFolder(async (folder) => {
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
    await withTempFolder(async (folder) => {
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
    await withTempFolder(async (folder) => {
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
    await withTempFolder(async (folder) => {
      const path = join(folder, "notes.txt");
      writeFileSync(path, "Dear diary, ".repeat(1000));
      chmodSync(path, 0o644);
      await expect(openSqliteStore({ path })).rejects.toMatchObject({
        code: "store_open",
        message: expect.stringMatching(/notes\.txt .*not a SQLite database/),
      });
      expect(readFileSync(path, "utf8")).toBe("Dear diary, ".repeat(1000));
      expect(modeOf(path)).toBe("644");
    });
  });

  test("that an older version made are refused, and left as they are", verifies("STOR-4"), async () => {
    await withTempFolder(async (folder) => {
      const path = join(folder, "sessions.db");
      await make(path);
      await withHandle(path, (handle) => handle.exec("PRAGMA user_version = 1"));
      const refused = {
        code: "older_format",
        message: expect.stringMatching(
          /sessions\.db .*tables 1; this version reads tables 2 and later.* move the file away/,
        ),
      };
      await expect(openSqliteStore({ path })).rejects.toMatchObject(refused);
      await expect(describeSqlite(path)).rejects.toMatchObject(refused);
    });
  });

  test("that 0.1 made are brought up to date when they are opened, also by several processes at once", async () => {
    await withTempFolder(async (folder) => {
      const path = join(folder, "sessions.db");
      const tables = readFileSync(new URL("sqlite-tables-of-0.1.sql", import.meta.url), "utf8");
      await withHandle(path, (handle) => handle.exec(tables));
      const stores = await Promise.all([1, 2, 3].map(() => openSqliteStore({ path })));
      const [store] = stores;
      await store?.signals?.send({ id: "1", key: "paid", at: 1, keptUntil: 2, value: null });
      expect(await stores[2]?.signals?.list(1, { limit: 2 })).toHaveLength(1);
      await Promise.all(stores.map((one) => one.close()));
      expect(await describeSqlite(path)).toMatchObject({ tables: tablesVersion });
      const columnsOf = (file: string) =>
        withHandle(file, (handle) =>
          handle.prepare("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name").all(),
        );
      const fresh = join(folder, "fresh.db");
      await (await openSqliteStore({ path: fresh })).close();
      expect(await columnsOf(path)).toEqual(await columnsOf(fresh));
    });
  });

  test("with rows of 0.1 list what their last commits say, and search their titles", async () => {
    await withTempFolder(async (folder) => {
      const path = join(folder, "sessions.db");
      await make(path);
      const list = async () => {
        const store = await openSqliteStore({ path });
        const listed = await store.list({ overview: true, text: "ENTRY" });
        expect(await store.verify()).toEqual([]);
        await store.close();
        return listed;
      };
      const before = await list();
      expect(before).toMatchObject([{ overview: { lastRun: { steps: 1 } } }]);
      await withHandle(path, (handle) =>
        handle.exec("UPDATE sessions SET search = NULL, overview = NULL, overview_seq = NULL, overview_sum = NULL"),
      );
      expect(await list()).toEqual(before);
      // A process of 0.1 that goes on leaves the overview of an earlier commit.
      await withHandle(path, (handle) => handle.exec("UPDATE sessions SET overview = '{', overview_seq = 0"));
      expect(await list()).toEqual(before);
    });
  });

  test("of a process of 0.1 that changes a title keep nothing of the former one", verifies("SEC-14"), async () => {
    await withTempFolder(async (folder) => {
      const path = join(folder, "sessions.db");
      const store = await openSqliteStore({ path });
      const agent = createAgent({ model: createScriptedModel(() => ({ text: "Done." })), store });
      await agent.run("Card 4929", { sessionId: "s" });
      expect(await store.list({ text: "4929" })).toHaveLength(1);
      // The columns that 0.1 writes after a redaction.
      await withHandle(path, (handle) => handle.exec("UPDATE sessions SET title = 'Карта [redacted]'"));
      expect(await store.list({ text: "4929" })).toEqual([]);
      for (const text of ["Карта", "REDACTED", "S"]) expect(await store.list({ text }), text).toHaveLength(1);
      const stored = await withHandle(
        path,
        (handle) => handle.prepare("SELECT * FROM sessions").all() as readonly { readonly info: unknown }[],
      );
      expect(JSON.stringify(stored.map(({ info: _, ...row }) => row))).not.toContain("4929");
      await store.close();
    });
  });

  test("tell their formats", verifies("STOR-4"), async () => {
    await withTempFolder(async (folder) => {
      const path = join(folder, "sessions.db");
      await (await openSqliteStore({ path })).close();
      expect(await describeSqlite(path)).toMatchObject({ tables: tablesVersion, format: null });
      await make(path);
      expect(await describeSqlite(path)).toMatchObject({ tables: tablesVersion, format: initialFormat });
    });
  });

  test("that a later version made are refused", verifies("STOR-4"), async () => {
    await withTempFolder(async (folder) => {
      const path = join(folder, "sessions.db");
      await make(path);
      await withHandle(path, (handle) => handle.exec("PRAGMA user_version = 99"));
      await expect(openSqliteStore({ path })).rejects.toMatchObject({ code: "newer_format" });
    });
  });

  test("cut in the middle are damaged", verifies("STOR-4"), async () => {
    await withTempFolder(async (folder) => {
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
    await withTempFolder(async (folder) => {
      const path = join(folder, "sessions.db");
      const store = await openSqliteStore({ path });
      await createHeldSession(store, 1, "other");
      const lease = await claim(store);
      const secret = "the-secret-of-this-session";
      await commit(store, lease, 0, {
        activity: "resting",
        events: [{ type: "restarted", runId: "r", holder: secret, at: t0 }],
      });
      await store.putBlob("s", new TextEncoder().encode(secret));
      await store.post("s", createMessage("m", t0, secret));
      await store.delete("s", { now: t0 + leaseMs });
      await store.close();
      expect(readFileSync(path).includes(secret)).toBe(false);
    });
  });
});

describe("what a later version wrote into a session", () => {
  test("is not claimed and not read, is listed, and can be posted to", verifies("STOR-4"), async () => {
    await withTempFolder(async (folder) => {
      const path = join(folder, "sessions.db");
      await make(path);
      await withHandle(path, (handle) =>
        handle.exec(`UPDATE commits SET v = ${formatVersion + 1}; UPDATE sessions SET v = ${formatVersion + 1}`),
      );
      const store = await openSqliteStore({ path });
      await expect(claim(store)).rejects.toMatchObject({ code: "newer_format" });
      await expect(store.load("s")).rejects.toMatchObject({ code: "newer_format" });
      await expect(store.read("s")).rejects.toMatchObject({ code: "newer_format" });
      expect(await store.list()).toMatchObject([{ sessionId: "s", info: null, status: "completed", holder: null }]);
      expect(await store.post("s", createMessage("m"))).toEqual({ type: "posted" });
      expect(await store.verify()).toMatchObject([{ sessionId: "s", what: expect.stringContaining("later version") }]);
      await store.close();
    });
  });
});

describe("the journal", () => {
  let compiled = "";
  beforeAll(() => {
    compiled = compileStores(tempFolder);
  });
  afterAll(() => {
    rmSync(compiled, { recursive: true });
  });
  async function journalOf(path: string): Promise<string> {
    return await withHandle(path, (handle) => JSON.stringify(handle.prepare("PRAGMA journal_mode").get()));
  }
  test("can be a write-ahead log that keeps itself only from SQLite 3.51.3 on", () => {
    for (const version of ["3.51.3", "3.51.10", "3.52.0", "4.0.0"]) expect(isWalSafe(version)).toBe(true);
    for (const version of ["3.45.1", "3.51.2", "3.50.9", "3.7.17"]) expect(isWalSafe(version)).toBe(false);
  });

  test("of a new file is a write-ahead log", async () => {
    await withTempFolder(async (folder) => {
      const path = join(folder, "sessions.db");
      await createFileInChild(compiled, path);
      expect(await journalOf(path)).toContain("wal");
    });
  });

  test("is not changed later: one that must not use a log may have the file open", async () => {
    await withTempFolder(async (folder) => {
      const path = join(folder, "sessions.db");
      await createFileInChild(compiled, path);
      await withHandle(path, (handle) => handle.exec("PRAGMA journal_mode = DELETE"));
      const store = await openSqliteStore({ path });
      await createHeldSession(store, 1, "t");
      await store.close();
      expect(await journalOf(path)).not.toContain("wal");
    });
  });

  async function openGiven(path: string): Promise<void> {
    const database: SqliteHandle = new Libsql(path);
    const store = await openSqliteStore({ database });
    await store.close();
    database.close();
  }

  test("is turned back for an older SQLite that the caller opened", async () => {
    await withTempFolder(async (folder) => {
      const path = join(folder, "sessions.db");
      await createFileInChild(compiled, path);
      await openGiven(path);
      expect(await journalOf(path)).not.toContain("wal");
    });
  });

  test("is none that an older SQLite of the caller's may share", async () => {
    await withTempFolder(async (folder) => {
      const path = join(folder, "sessions.db");
      await createFileInChild(compiled, path);
      const other = startChild("locker", compiled, path, "BEGIN; SELECT * FROM store");
      await other.line();
      await expect(openGiven(path)).rejects.toMatchObject({
        code: "store_open",
        message: expect.stringMatching(/open in another process .* Leave out `database`/),
      });
      other.writeLine("let go");
      await other.ended;
    });
  });
});

describe("a write-ahead log that an older SQLite must not keep by itself", () => {
  let folder = "";
  let handles: SqliteHandle[] = [];
  const path = () => join(folder, "sessions.db");
  const open = async (): Promise<SqliteHandle> => {
    const handle: SqliteHandle = new Libsql(path());
    handles.push(handle);
    return handle;
  };
  beforeEach(() => {
    folder = createTempFolder();
  });
  afterEach(() => {
    for (const handle of handles) handle.close();
    handles = [];
    rmSync(folder, { recursive: true });
  });
  const prepare = (handle: SqliteHandle): boolean =>
    prepareFile(handle, path(), { synchronous: "normal", guardsCheckpoints: true });
  const pages = 100;
  const writePages = (handle: SqliteHandle) =>
    handle.exec(`INSERT INTO blobs VALUES (1, hex(randomblob(8)), zeroblob(${pages * 4096}))`);

  test("gets no checkpoint but those that are asked for", async () => {
    const writer = await open();
    expect(prepare(writer)).toBe(true);
    const empty = statSync(path()).size;
    for (let times = 0; times < 15; times += 1) writePages(writer);
    expect(statSync(path()).size).toBe(empty);
    expect(statSync(`${path()}-wal`).size).toBeGreaterThan(15 * pages * 4096);
  });

  test("gets one when a thousand pages were written, but none while somebody else may write", async () => {
    const writer = await open();
    prepare(writer);
    const empty = statSync(path()).size;
    const checkpoints = createCheckpoints(writer, await open(), path());
    writePages(writer);
    checkpoints.recordWrite(pages);
    expect(statSync(path()).size).toBe(empty);
    const another = await open();
    another.exec("BEGIN IMMEDIATE");
    checkpoints.recordWrite(1000);
    expect(statSync(path()).size).toBe(empty);
    another.exec("ROLLBACK");
    checkpoints.recordWrite(1);
    expect(statSync(path()).size).toBeGreaterThan(pages * 4096);
  });

  test("counts what others left in it", async () => {
    const writer = await open();
    prepare(writer);
    const empty = statSync(path()).size;
    for (let times = 0; times < 11; times += 1) writePages(writer);
    const checkpoints = createCheckpoints(writer, await open(), path());
    expect(statSync(path()).size).toBe(empty);
    checkpoints.recordWrite(1);
    expect(statSync(path()).size).toBeGreaterThan(11 * pages * 4096);
  });

  test("is written into the file when a store is closed", async () => {
    const store = await openSqliteStore({ path: path() });
    await createHeldSession(store, 3);
    await store.close();
    const copy = join(folder, "copy.db");
    copyFileSync(path(), copy);
    const copied = await openSqliteStore({ path: copy });
    expect(await copied.read("s")).toHaveLength(3);
    await copied.close();
  });

  test("does not grow while a store writes on", async () => {
    const store = await openSqliteStore({ path: path(), synchronous: "normal" });
    const lease = await claim(store);
    const events = [createTextEvent("x".repeat(900_000))];
    let largest = 0;
    for (let seq = 0; seq < 40; seq += 1) {
      await commit(store, lease, seq, { events });
      largest = Math.max(largest, statSync(`${path()}-wal`).size);
    }
    // A thousand pages, and what one commit may add before it is looked at.
    expect(largest).toBeLessThan(7 * 1024 * 1024);
    await store.close();
  });
});

test("the file names Pawl", async () => {
  await withTempFolder(async (folder) => {
    const path = join(folder, "sessions.db");
    await make(path);
    expect(readFileSync(path).readUInt32BE(68)).toBe(applicationId);
    expect(readFileSync(path).subarray(68, 72).toString()).toBe("Pawl");
  });
});

test.skipIf(!existsSync("/proc/self"))(
  "a folder where none can be created is refused at once",
  verifies("STOR-4"),
  async () => {
    await expect(openSqliteStore({ path: "/proc/x/deeper/sessions.db" })).rejects.toMatchObject({
      code: "store_open",
      message: expect.stringContaining("/proc/x"),
    });
  },
);

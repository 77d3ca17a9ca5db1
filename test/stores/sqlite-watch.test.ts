/**
 * Who watches a file is told of what other processes write, or that something may have been missed.
 */
import { rmSync } from "node:fs";
import { join } from "node:path";
import Libsql from "libsql";
import { expect, test } from "vitest";
import { createAgent } from "../../src/index.js";
import { openSqliteStore } from "../../src/stores/sqlite/index.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import { verifies } from "../verifies.js";
import { withTempFolder } from "./open.js";

type Change = { readonly sessionId?: string; readonly gap?: true };

test("a file that is locked when the watch begins: a gap is told when it can be read", verifies("STOR-2"), async () => {
  await withTempFolder(async (folder) => {
    // Handles of this library keep a rollback journal, with which readers can be locked out.
    const path = join(folder, "sessions.db");
    const handle = new Libsql(path);
    const store = await openSqliteStore({ database: handle, pollMs: 5 });
    const locking = new Libsql(path);
    locking.exec("BEGIN EXCLUSIVE");
    const told: Change[] = [];
    const heard = new Promise<void>((resolve) => {
      store.watch((change) => {
        told.push(change);
        resolve();
      });
    });
    // This change comes after the watch has begun, and before its first look.
    locking.exec("INSERT INTO sessions (name, created_at, updated_at, epoch) VALUES ('s', 0, 0, 1); COMMIT");
    await heard;
    expect(told).toEqual([{ gap: true }]);
    await store.close();
    for (const each of [handle, locking]) each.close();
  });
});

test("a file that is gone: whoever follows a session is told", verifies("STOR-4"), async () => {
  await withTempFolder(async (folder) => {
    const path = join(folder, "sessions.db");
    const store = await openSqliteStore({ path, pollMs: 5 });
    const agent = createAgent({ model: createScriptedModel(() => ({ text: "Done." })), store });
    await agent.run("Go", { sessionId: "s" });
    const reading = (async () => {
      for await (const item of agent.session("s").events()) if (item.type === "final") rmSync(path);
    })();
    await expect(reading).rejects.toMatchObject({ code: "store_failed" });
    await store.close();
  });
});

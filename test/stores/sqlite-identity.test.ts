/**
 * A database whose file is deleted or replaced while it is open.
 */
import { copyFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createAgent } from "../../src/index.js";
import { openSqliteStore } from "../../src/stores/sqlite/index.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import { verifies } from "../verifies.js";
import { withTempFolder } from "./open.js";

const damages: readonly (readonly [string, (file: string) => void])[] = [
  ["deleted", (file) => rmSync(file)],
  ["replaced by a copy of it", (file) => replace(file)],
  [
    "deleted with its write-ahead log",
    (file) => {
      for (const end of ["", "-wal", "-shm"]) rmSync(`${file}${end}`, { force: true });
    },
  ],
  ["left without its write-ahead log", (file) => rmSync(`${file}-wal`)],
];

function replace(file: string): void {
  copyFileSync(file, `${file}.copy`);
  renameSync(`${file}.copy`, file);
}

test.each(damages)("a file that was %s: no run is said to be kept", verifies("STOR-4"), async (_name, damage) => {
  await withTempFolder(async (folder) => {
    const file = join(folder, "sessions.db");
    const store = await openSqliteStore({ path: file, pollMs: 60_000 });
    const agent = createAgent({ model: createScriptedModel(() => ({ text: "Done." })), store });
    expect(await agent.run("One", { sessionId: "s" })).toMatchObject({ status: "completed" });
    damage(file);
    const result = await agent.run("Two", { sessionId: "t" });
    expect(result).toMatchObject({
      status: "interrupted",
      reason: "store_failed",
      resumable: false,
      error: {
        code: "store_failed",
        message: expect.stringMatching(/was (deleted|replaced) while the store was open/),
      },
    });
    await expect(agent.session("s").state()).rejects.toThrow(expect.objectContaining({ code: "store_failed" }));
    await expect(store.list()).rejects.toThrow(expect.objectContaining({ code: "store_failed" }));
    await store.close();
  });
});

test("a run under way stops at its next commit", verifies("STOR-4"), async () => {
  await withTempFolder(async (folder) => {
    const file = join(folder, "sessions.db");
    const store = await openSqliteStore({ path: file });
    const model = createScriptedModel(() => {
      rmSync(file);
      return { text: "Written into no file." };
    });
    const result = await createAgent({ model, store }).run("Go", { sessionId: "s" });
    expect(result).toMatchObject({ status: "interrupted", reason: "store_failed" });
    await store.close();
  });
});

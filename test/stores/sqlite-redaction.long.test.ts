/**
 * Redaction in a SQLite file, by processes that are killed on the way.
 */
import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openHandle } from "../../src/stores/sqlite/driver.js";
import { openSqliteStore } from "../../src/stores/sqlite/index.js";
import { textsOf } from "../../src/testing/conformance/bench.js";
import { verifies } from "../verifies.js";
import { compileStores, startChild, tempFolder } from "./children.js";
import { withTempFolder } from "./open.js";

const proven = verifies("SEC-14", "STOR-2");

let compiled = "";
beforeAll(() => {
  compiled = compileStores(tempFolder);
});
afterAll(() => rmSync(compiled, { recursive: true, force: true }));

const bytesIn = (folder: string): string =>
  readdirSync(folder)
    .map((file) => readFileSync(join(folder, file), "latin1"))
    .join("");

async function killed(path: string, where: "before" | "after"): Promise<void> {
  const child = startChild("redactor", compiled, path, where);
  expect(await child.ended, child.errors()).toBeNull();
}

describe("a process that is killed while it redacts", () => {
  test("has redacted nothing if its transaction had not ended", proven, () =>
    withTempFolder(async (folder) => {
      const path = join(folder, "sessions.db");
      await killed(path, "before");
      const store = await openSqliteStore({ path });
      expect(textsOf(await store.read("s"))).toHaveLength(20);
      expect(textsOf(await store.read("s"))[0]).toBe("It is hunter2-in-a-row.");
      expect(await store.verify()).toEqual([]);
      await store.close();
    }),
  );

  test(
    "has redacted all if it had, and whoever opens the file next overwrites what SQLite still has of it",
    proven,
    () =>
      withTempFolder(async (folder) => {
        const path = join(folder, "sessions.db");
        await killed(path, "after");
        expect(existsSync(`${path}-redacting`)).toBe(true);
        expect(bytesIn(folder)).toContain("hunter2");
        const store = await openSqliteStore({ path });
        const texts = textsOf(await store.read("s"));
        expect([texts[0], texts.at(-1)]).toEqual(["It is [redacted].", "content_redacted"]);
        expect(await store.verify()).toEqual([]);
        expect(bytesIn(folder)).not.toContain("hunter2");
        expect(existsSync(`${path}-redacting`)).toBe(false);
        await store.close();
        expect(bytesIn(folder)).not.toContain("hunter2");
      }),
  );

  test("leaves a file that another reader keeps from being overwritten to the next opening", proven, () =>
    withTempFolder(async (folder) => {
      const path = join(folder, "sessions.db");
      await killed(path, "after");
      const reader = await openHandle(path);
      reader.exec("BEGIN");
      reader.prepare("SELECT count(*) FROM commits").all();
      const first = await openSqliteStore({ path });
      expect(textsOf(await first.read("s"))[0]).toBe("It is [redacted].");
      await first.close();
      reader.exec("END");
      reader.close();
      const store = await openSqliteStore({ path });
      expect(bytesIn(folder)).not.toContain("hunter2");
      expect(existsSync(`${path}-redacting`)).toBe(false);
      await store.close();
    }),
  );
});

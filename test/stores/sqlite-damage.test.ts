import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { PawlError } from "../../src/errors.js";
import type { Store } from "../../src/ports/store.js";
import { checksumOf, checksumPrefixOf } from "../../src/stores/shared/checksum.js";
import { openHandle } from "../../src/stores/sqlite/driver.js";
import { openSqliteStore } from "../../src/stores/sqlite/index.js";
import {
  claim,
  commit,
  createAskingFields,
  createMessage,
  createRestingSession,
  createState,
  expectLog,
  t0,
} from "../../src/testing/conformance/bench.js";
import { verifies } from "../verifies.js";
import { withHandle, withTempFolder } from "./open.js";

const blob = new TextEncoder().encode("a blob with some text in it ".repeat(100));

async function fill(path: string): Promise<void> {
  const store = await openSqliteStore({ path });
  await createRestingSession(store, "s");
  const lease = await claim(store);
  for (let seq = 1; seq < 25; seq++) await commit(store, lease, seq, { events: 1 });
  await store.post("s", createMessage("m1"));
  await store.post("s", createMessage("m2"));
  await store.putBlob("s", blob);
  await store.close();
}

/** Everything of a session, as text. */
async function everything(store: Store): Promise<string> {
  const hash = await store.putBlob("s", blob);
  const kept = await store.getBlob("s", hash);
  return JSON.stringify([await store.load("s"), await store.read("s"), await store.inbox("s"), kept?.length]);
}

type Finding = "same" | "told" | "silent";

/** What a user of this file would learn of it. */
async function examine(path: string, expected: string): Promise<Finding> {
  let store: Store;
  try {
    store = await openSqliteStore({ path });
  } catch (error) {
    if (error instanceof PawlError) return "told";
    throw error;
  }
  try {
    if ((await everything(store)) === expected) return "same";
    return (await store.verify()).length > 0 ? "told" : "silent";
  } catch (error) {
    if (error instanceof PawlError) return "told";
    throw error;
  } finally {
    await store.close();
  }
}

describe("damage", () => {
  test("of any byte of the file is never silent", verifies("STOR-4", "SEC-13"), async () => {
    await withTempFolder(async (folder) => {
      const path = join(folder, "sound.db");
      await fill(path);
      const sound = readFileSync(path);
      const store = await openSqliteStore({ path });
      const expected = await everything(store);
      await store.close();
      const findings = { same: 0, told: 0 };
      let copies = 0;
      const flip = fc.asyncProperty(
        fc.nat({ max: sound.length - 1 }),
        fc.integer({ min: 1, max: 255 }),
        async (position, mask) => {
          const damaged = Buffer.from(sound);
          damaged[position] = (damaged[position] ?? 0) ^ mask;
          copies += 1;
          const copy = join(folder, `damaged-${copies}.db`);
          writeFileSync(copy, damaged);
          const finding = await examine(copy, expected);
          expect(finding).not.toBe("silent");
          if (finding !== "silent") findings[finding] += 1;
        },
      );
      await fc.assert(flip, { numRuns: 250 });
      expect(findings.told).toBeGreaterThan(20);
    });
  });

  test("by a row that is gone is told by reading and by verify", verifies("STOR-4"), async () => {
    await withTempFolder(async (folder) => {
      const path = join(folder, "sessions.db");
      await fill(path);
      await withHandle(path, (handle) => handle.exec("DELETE FROM commits WHERE seq = 10"));
      const store = await openSqliteStore({ path });
      await expect(store.read("s")).rejects.toMatchObject({
        code: "store_corrupt",
        message: expect.stringMatching(/sessions\.db is damaged: in session s.*starts with entry 11, after entry 9/),
      });
      await expect(store.read("s", 9)).rejects.toMatchObject({ code: "store_corrupt" });
      expect((await store.read("s", 10)).length).toBe(15);
      expect(await store.verify("s")).toMatchObject([{ sessionId: "s" }]);
      await store.close();
    });
  });

  test("by a blob that was changed is told by reading and by verify", verifies("STOR-4"), async () => {
    await withTempFolder(async (folder) => {
      const path = join(folder, "sessions.db");
      await fill(path);
      await withHandle(path, (handle) => handle.exec("UPDATE blobs SET bytes = x'00'"));
      const store = await openSqliteStore({ path });
      const hash = await store.putBlob("s", blob);
      await expect(store.getBlob("s", hash)).rejects.toMatchObject({ code: "store_corrupt" });
      expect(await store.verify()).toEqual([{ sessionId: "s", what: expect.stringContaining(hash) }]);
      await store.close();
    });
  });

  test("by content without a session is told by verify", verifies("STOR-4"), async () => {
    await withTempFolder(async (folder) => {
      const path = join(folder, "sessions.db");
      await fill(path);
      await withHandle(path, (handle) => handle.exec("DELETE FROM sessions"));
      const store = await openSqliteStore({ path });
      expect(await store.verify()).toMatchObject([{ sessionId: null }]);
      await store.close();
    });
  });

  test("of one session leaves the others usable, and it can be deleted", verifies("STOR-4"), async () => {
    await withTempFolder(async (folder) => {
      const path = join(folder, "sessions.db");
      await fill(path);
      await withHandle(path, (handle) => handle.exec("UPDATE commits SET state = '{}'"));
      const store = await openSqliteStore({ path });
      await expect(claim(store, "s", { now: t0 * 2 })).rejects.toMatchObject({ code: "store_corrupt" });
      await createRestingSession(store, "other");
      await expectLog(store, 1, "other");
      expect((await store.verify()).length).toBeGreaterThan(0);
      expect(await store.delete("s", { now: t0, force: true })).toBe(true);
      expect(await store.verify()).toEqual([]);
      await store.close();
    });
  });
});

describe("what somebody wrote into the file", () => {
  const wrongEvents: { readonly [what: string]: string } = {
    "no JSON": "[{",
    "no list": "{}",
    "an empty list": "[]",
    "more events than there are entries": JSON.stringify([1, 2].map(() => ({ type: "compacted", runId: "r", at: 1 }))),
    "an event that is none": "[null]",
    "an event without a type": '[{"at":1}]',
    "an event without a time": '[{"type":"compacted","runId":"r"}]',
    "an event without its fields": '[{"type":"model_finished","runId":"r","modelCallIndex":1,"at":1}]',
    "a message without parts":
      '[{"type":"model_finished","runId":"r","modelCallIndex":1,"attempt":1,"message":{},"finishReason":{},"usage":{},"at":1}]',
    "the key __proto__": '[{"type":"compacted","runId":"r","at":1,"__proto__":{"polluted":true}}]',
    "the key constructor, deep down": '[{"type":"compacted","runId":"r","at":1,"usage":{"a":[{"constructor":1}]}}]',
    "the key prototype, escaped": '[{"type":"compacted","runId":"r","at":1,"\\u0070rototype":1}]',
    "a value 100,000 levels deep": `[{"type":"compacted","runId":"r","at":1,"x":${"[".repeat(100_000)}${"]".repeat(100_000)}}]`,
  };
  const whole = createState(1, "tool_running");
  const wrongStates: { readonly [what: string]: string } = {
    "no JSON": "{",
    "no object": "[]",
    "no format": JSON.stringify({ ...whole, v: undefined }),
    "no known status": JSON.stringify({ ...whole, status: "flying" }),
    "a status named like a method": JSON.stringify({ ...whole, status: "valueOf" }),
    "another entry's number": JSON.stringify({ ...whole, seq: 2 }),
    "no limits": JSON.stringify({ ...whole, limits: undefined }),
    "calls that are no list": JSON.stringify({ ...whole, calls: {} }),
    "a call that is none": JSON.stringify({ ...whole, calls: [{ callKey: 1 }] }),
    "a session without an agent": JSON.stringify({ ...whole, session: { model: "m" } }),
    "the key __proto__": JSON.stringify(whole).replace("{", '{"__proto__":{"polluted":true},'),
  };
  const wrongMessages: { readonly [what: string]: string } = {
    "no JSON": "",
    "no body": '{"id":"m1","at":1}',
    "an unknown body": '{"id":"m1","at":1,"body":{"type":"shutdown"}}',
    "a body without its fields": '{"id":"m1","at":1,"body":{"type":"answer"}}',
    "the key __proto__": '{"id":"m1","at":1,"body":{"type":"abort","__proto__":{"polluted":true}}}',
  };

  async function withRow(
    sql: string,
    values: readonly string[],
    look: (store: Store) => Promise<unknown>,
    code = "store_corrupt",
  ): Promise<void> {
    await withTempFolder(async (folder) => {
      const path = join(folder, "sessions.db");
      const made = await openSqliteStore({ path });
      await createRestingSession(made, "s");
      await made.post("s", createMessage("m1"));
      await made.close();
      await withHandle(path, (handle) => {
        const of = sql.includes("commits") ? checksumPrefixOf("s", 1) : "";
        for (const value of values) handle.prepare(sql).run(value, checksumOf(value, of));
      });
      const store = await openSqliteStore({ path });
      await expect(look(store)).rejects.toMatchObject({ code });
      expect((await store.verify()).length).toBeGreaterThan(0);
      expect(Object.hasOwn(Object.prototype, "polluted")).toBe(false);
      await store.close();
    });
  }

  test.for(Object.entries(wrongEvents))("is refused as events: %s", verifies("SEC-13", "SEC-12"), async ([, text]) => {
    await withRow("UPDATE commits SET events = ?, events_sum = ?", [text], (store) => store.read("s"));
  });
  test.for(["world_ended", "toString"])(
    "is refused as a later version's if it has the unknown event %s",
    verifies("STOR-5"),
    async (type) => {
      const events = JSON.stringify([{ type, at: 1 }]);
      await withRow(
        "UPDATE commits SET events = ?, events_sum = ?",
        [events],
        (store) => store.read("s"),
        "newer_format",
      );
    },
  );
  test.for(Object.entries(wrongStates))("is refused as a state: %s", verifies("SEC-13", "SEC-12"), async ([, text]) => {
    await withRow("UPDATE commits SET state = ?, state_sum = ?", [text], (store) => store.load("s"));
    await withRow("UPDATE commits SET state = ?, state_sum = ?", [text], (store) => claim(store));
  });
  test.for(Object.entries(wrongMessages))("is refused as a message: %s", verifies("SEC-13"), async ([, text]) => {
    await withRow("UPDATE messages SET body = ?, body_sum = ?", [text], (store) => store.inbox("s"));
  });
  test("is refused as a holder", verifies("SEC-13"), async () => {
    const holder = '{"id":1}';
    await withRow("UPDATE sessions SET holder = ?, lease_ms = ?", [holder], (store) => claim(store));
    await withRow("UPDATE sessions SET holder = ?, lease_ms = ?", [holder], (store) => store.list());
    await withRow("UPDATE sessions SET holder = ?, lease_ms = ?", [holder], (store) => store.due(t0, 1));
  });
  test("is refused as an activity or a status", verifies("SEC-13"), async () => {
    await withRow("UPDATE sessions SET activity = ?, lease_ms = ?", ["asleep"], async (store) => {
      await store.list();
    });
    await withRow("UPDATE sessions SET status = ?, lease_ms = ?", ["flying"], (store) => store.list());
    await withRow("UPDATE sessions SET status = ?, lease_ms = ?", ["flying"], (store) => store.describe("s"));
  });
});

test("a session that begins to ask while it is verified is not reported as damaged", verifies("STOR-4"), () =>
  withTempFolder(async (folder) => {
    const path = join(folder, "sessions.db");
    const [driverHandle, handle] = [await openHandle(path), await openHandle(path)];
    // The driver's last commit ends with the transaction in which the other process has read the session's own row.
    let isHeldBack = false;
    const driver = await openSqliteStore({
      database: {
        prepare: (sql) => driverHandle.prepare(sql),
        exec: (sql) => (isHeldBack && sql === "COMMIT" ? undefined : driverHandle.exec(sql)),
        close: () => {},
      },
    });
    const lease = await claim(driver);
    await commit(driver, lease, 0);
    let reads = 0;
    const store = await openSqliteStore({
      database: {
        prepare(sql) {
          const statement = handle.prepare(sql);
          if (!/FROM sessions WHERE id > \?/.test(sql)) return statement;
          return {
            get: (...values) => statement.get(...values),
            run: (...values) => statement.run(...values),
            all(...values) {
              reads += 1;
              return statement.all(...values);
            },
          };
        },
        exec(sql) {
          handle.exec(sql);
          if (sql !== "END" || reads === 0 || !isHeldBack) return;
          isHeldBack = false;
          driverHandle.exec("COMMIT");
        },
        close: () => {},
      },
    });
    isHeldBack = true;
    await commit(driver, lease, 1, createAskingFields(2, t0));
    expect(await store.verify()).toEqual([]);
    expect(reads).toBe(2);
    expect((await store.load("s"))?.seq).toBe(2);
    await store.close();
    await driver.close();
    driverHandle.close();
    handle.close();
  }),
);

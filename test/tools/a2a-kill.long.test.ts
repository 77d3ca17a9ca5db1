/**
 * A process that calls a remote agent, killed between the start of the task and its result.
 */
import { join, resolve } from "node:path";
import { killTest } from "pawl/testing";
import { expect, test } from "vitest";
import { openSqliteStore } from "../../src/stores/sqlite/index.js";
import { verifies } from "../verifies.js";
import { startPayer } from "./a2a-remote.js";

test("a client that is killed around each commit of a call begins one task, and answers its question once", {
  timeout: 60_000,
  ...verifies("PROT-8", "REC-3"),
}, async () => {
  const { url, token, store, paid } = await startPayer();
  const report = await killTest({
    script: resolve("test/fixtures/a2a-agent.mjs"),
    args: [url, token],
    openStore: (folder) => openSqliteStore({ path: join(folder, "sessions.db") }),
    // Before the commit of the task, whose message is sent again; after it; with the question; and with the answer.
    kills: { at: ["before 5", "after 2", "after 2", "after 2"] },
    check: ({ stdout }) => expect(stdout).toBe("completed Done.\n"),
  });
  expect(report.kills).toBe(4);
  expect(paid).toEqual([{ cents: 5 }]);
  const sessions = await store.list({});
  expect(sessions).toHaveLength(1);
  const log = await store.read(sessions[0]?.sessionId ?? "");
  expect(log.filter(({ event }) => event.type === "run_started")).toHaveLength(1);
  expect(log.filter(({ event }) => event.type === "answered")).toHaveLength(1);
});

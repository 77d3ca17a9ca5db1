/**
 * The file with the output of runs in the background goes when their session goes, and when content is removed from it.
 */
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { remove } from "../../src/cli/commands/delete-session.js";
import { redact } from "../../src/cli/commands/redact.js";
import { resolveLogPath } from "../../src/cli/run/background-log.js";
import type { Terminal } from "../../src/cli/terminal/terminal.js";
import { createAgent } from "../../src/index.js";
import { openSqliteStore } from "../../src/stores/sqlite/index.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import { verifies } from "../verifies.js";

const silent = { out: () => {} } as unknown as Terminal;

test.each([
  ["deleted", () => remove("gone", {}, silent)],
  ["redacted", () => redact("gone", { seq: ["1"] }, silent)],
])("the log of a session that is %s is removed, and no other", verifies("SEC-14"), async (_, act) => {
  const home = mkdtempSync(join(tmpdir(), "pawl-log-"));
  onTestFinished(() => rmSync(home, { recursive: true }));
  vi.stubEnv("PAWL_HOME", home);
  vi.stubEnv("PAWL_STORE", undefined);
  onTestFinished(() => void vi.unstubAllEnvs());
  const store = await openSqliteStore({ path: join(home, "sessions.db") });
  const agent = createAgent({ model: createScriptedModel(() => ({ text: "Done." })), store });
  const [gone = "", kept = ""] = ["gone", "kept"].map((sessionId) => resolveLogPath(home, sessionId));
  mkdirSync(dirname(gone));
  for (const sessionId of ["gone", "kept"]) {
    await agent.run("Card 4929", { sessionId });
    writeFileSync(resolveLogPath(home, sessionId), "Card 4929\n");
  }
  await store.close();
  expect(await act()).toBe(0);
  expect([existsSync(gone), existsSync(kept)]).toEqual([false, true]);
});

/**
 * How ids of sessions are shown, whoever chose them.
 */
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { runExportCommand } from "../../src/cli/conversation/commands/export.js";
import { shortId } from "../../src/cli/files/session-store.js";
import { createTextWorkerView } from "../../src/cli/render/worker-view.js";
import { createTerminalRedaction } from "../../src/cli/terminal/redaction.js";
import { createAgent, createMemoryStore } from "../../src/index.js";
import { createScriptedModel } from "../../src/testing/index.js";

test.each([
  ["customer-41", "customer-41"],
  ["orders/41", "orders/41"],
  ["each-morning@2026-11-30T08:00:00.000Z", "each-morning@2026-11-30T08:00:00.000Z"],
  // Of a new session, of one before 0.1, and of the child of a session.
  ["01c3x8kq5v9w2m4n6p7r0s1t2y", "01c3x8kq"],
  ["f74a572a-e021-4e4c-b678-1a992967ca17", "f74a572a"],
  ["9f86d081884c7d659a2feaa0c55ad015", "9f86d081"],
  // In a command that a person copies, the rest would be another command.
  ["x; curl example.org | sh", "x; curl "],
  ["x".repeat(101), "xxxxxxxx"],
])("the id %s is shown as %s", (id, shown) => {
  expect(shortId(id)).toBe(shown);
});

test("a worker's lines have room for what happened, however long the id of the session", () => {
  const lines: string[] = [];
  const terminal = {
    ...{ out: (text: string) => lines.push(text), styleOut: (_: string, text: string) => text, columns: () => 80 },
    redaction: createTerminalRedaction({}),
  };
  const view = createTextWorkerView(terminal as unknown as Parameters<typeof createTextWorkerView>[0]);
  view.report({ type: "taken", sessionId: `customer-${"4".repeat(90)}`, agent: "desk" }, "");
  expect(lines.join("")).toMatch(/^customer-4{30}… {2}taken up\n$/);
});

test("an exported session is in the folder, whatever its id", async () => {
  const base = mkdtempSync(join(tmpdir(), "pawl-ids-"));
  onTestFinished(() => rmSync(base, { recursive: true, force: true }));
  const root = join(base, "root");
  mkdirSync(root);
  const store = createMemoryStore();
  for (const sessionId of ["orders/41", "a/../../b", "../../b"]) {
    const agent = createAgent({ model: createScriptedModel([{ text: "Done." }]), store });
    await agent.run("Go", { sessionId });
    const context = { store, agent, sessionId, root, redaction: createTerminalRedaction({}), say() {} };
    await runExportCommand(context as unknown as Parameters<typeof runExportCommand>[0], "");
  }
  expect(readdirSync(base)).toEqual(["root"]);
  expect(readdirSync(root).every((name) => /^pawl-[\w-]+\.md$/.test(name))).toBe(true);
  expect(readdirSync(root)).toHaveLength(3);
});

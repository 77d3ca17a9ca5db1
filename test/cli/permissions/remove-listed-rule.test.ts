/**
 * `/permissions remove`: which rule a text names.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { runPermissionsCommand } from "../../../src/cli/conversation/commands/permissions.js";
import { createPermissions } from "../../../src/cli/permissions/permissions.js";
import { toPlainText } from "../../../src/cli/screen/line.js";
import { createAgent, createMemoryStore } from "../../../src/index.js";
import { createScriptedModel } from "../../../src/testing/index.js";
import { verifies } from "../../verifies.js";

function createConversation() {
  const base = mkdtempSync(join(tmpdir(), "pawl-rules-"));
  onTestFinished(() => rmSync(base, { recursive: true, force: true }));
  const permissions = createPermissions({
    ...{ allowAll: false, root: base, home: join(base, "home") },
    environment: { XDG_CONFIG_HOME: join(base, "config") },
  });
  const agent = createAgent({ model: createScriptedModel([]), store: createMemoryStore() });
  return async (words: string): Promise<string> => {
    const said: string[] = [];
    const context = {
      ...{ permissions, agent, sessionId: "s", columns: () => 80 },
      say: (lines: Parameters<typeof toPlainText>[0][]) => said.push(...lines.map(toPlainText)),
    };
    await runPermissionsCommand(context as unknown as Parameters<typeof runPermissionsCommand>[0], words);
    return said.join("\n");
  };
}

test("a text that several rules have removes none of them", verifies("CHAT-2#rules"), async () => {
  const run = createConversation();
  await run("add deny shell(rm *) project");
  await run("add allow shell(rm *) user");
  await run("add allow shell(ls) user");
  await expect(run("remove shell(rm *)")).rejects.toThrow(
    "Several rules have this text. Give the number of one, as /permissions lists them.",
  );
  expect(await run("")).toMatch(/deny +shell\(rm \*\).*\n.*allow +shell\(rm \*\)/);
  expect(await run("remove allow shell(rm *)")).toMatch(/^Removed: allow +shell\(rm \*\)/);
  expect(await run("remove shell(rm *)")).toMatch(/^Removed: deny +shell\(rm \*\)/);
  await expect(run("remove shell(rm *)")).rejects.toThrow("There is no such rule.");
});

test("a rule about a tool version has the text that is listed", verifies("CHAT-2#rules"), async () => {
  const run = createConversation();
  await run(`add allow mcp__docs__search@${"ab".repeat(32)} user`);
  const [, text = ""] = /allow +(\S+)/.exec(await run("")) ?? [];
  expect(text).toBe("mcp__docs__search@abababab…");
  expect(await run(`remove ${text}`)).toContain("Removed: allow");
});

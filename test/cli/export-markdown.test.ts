/**
 * What `/export` writes.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { runExportCommand } from "../../src/cli/conversation/commands/export.js";
import { createTerminalRedaction } from "../../src/cli/terminal/redaction.js";
import { createAgent, createMemoryStore, defineTool } from "../../src/index.js";
import { createScriptedModel } from "../../src/testing/index.js";
import { createDeferred } from "../support/agents.js";

test("names who speaks, which call a result is of, and what a person changed", async () => {
  const root = mkdtempSync(join(tmpdir(), "pawl-export-"));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  const steered = createDeferred<void>();
  const started = createDeferred<void>();
  const look = defineTool({
    name: "look",
    description: "Looks.",
    input: { type: "object" },
    execute: async () => {
      started.resolve();
      await steered.promise;
      return "seen";
    },
  });
  const write = defineTool({
    name: "write",
    description: "Writes.",
    input: { type: "object" },
    needsApproval: true,
    execute: ({ text }: { readonly text?: string }) => `wrote ${text}`,
  });
  const model = createScriptedModel([
    { text: "I look.", calls: [{ name: "look", input: {} }] },
    { calls: [{ name: "write", input: { text: "old" } }] },
    { text: "Done." },
  ]);
  const store = createMemoryStore();
  const agent = createAgent({ model, tools: [look, write], store });
  const session = agent.session("s");
  const running = agent.run("Go", { sessionId: "s" });
  await started.promise;
  await session.steer("Be brief");
  steered.resolve();
  expect(await running).toMatchObject({ status: "awaiting_human" });
  const [approval] = await session.pendingApprovals();
  await session.answer(approval?.callKey ?? "", { type: "modify", input: { text: "new" } }, { by: "ada" });
  expect(await session.resume()).toMatchObject({ status: "completed" });
  const context = { store, agent, sessionId: "s", root, redaction: createTerminalRedaction({}), say() {} };
  await runExportCommand(context as unknown as Parameters<typeof runExportCommand>[0], "talk.md");
  const headings = readFileSync(join(root, "talk.md"), "utf8")
    .split("\n")
    .filter((line) => /^(#|write:)/.test(line));
  expect(headings).toEqual([
    "# Session s",
    "## You",
    "## Agent",
    "### look",
    "## You",
    "## Agent",
    "### look, result",
    "### write",
    "write: approved with changes by ada",
    "### write, result",
  ]);
  await runExportCommand(context as unknown as Parameters<typeof runExportCommand>[0], "talk.html");
  const page = readFileSync(join(root, "talk.html"), "utf8").replaceAll("&quot;", '"');
  const [call = ""] = /<details><summary><b>write<.*?<\/details>/s.exec(page) ?? [];
  // The summary names the input that ran; what was asked about, and who changed it, is inside.
  expect(call).toContain('<code>{"text":"new"}</code>');
  expect(call.replace(/<[^>]*>/g, " ")).toMatch(
    /"text": "old"\s+}\s+approved with changes by ada\s+{\s+"text": "new"\s+}\s+wrote new/,
  );
  await expect(
    runExportCommand(context as unknown as Parameters<typeof runExportCommand>[0], "talk.pdf"),
  ).rejects.toThrow("Give a name that ends in .md, .html, .htm or .jsonl: /export writes the format of that name.");
  expect(existsSync(join(root, "talk.pdf"))).toBe(false);
});

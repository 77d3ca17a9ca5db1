import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { verifies } from "../verifies.js";
import { createWorld, parseJsonLines } from "./pawl.js";

const proven = verifies("CLI-4#replay", "REC-6#replay");
const files = { "src/a.ts": "// TODO: one\n" };
const task = "Find the TODO comments under src, then write a summary of them to TODO-REPORT.md";

describe("pawl replay", proven, () => {
  test("finds no difference with the same code, whatever was allowed, and leaves the folder alone", async () => {
    const { pawl, root } = createWorld(files);
    const read = (path: string) => readFileSync(join(root, path), "utf8");
    await pawl(["run", task, "--yes", "--session", "allowed"]);
    await pawl(["run", task, "--session", "denied"]);
    const report = read("TODO-REPORT.md");
    const replayed = await pawl(["replay", "allowed"]);
    expect(replayed).toMatchObject({ code: 0, stderr: "" });
    expect(replayed.stdout).toMatch(/^Replayed allowed: \d+ entries, no difference\.\n$/);
    const denied = await pawl(["replay", "denied", "--json"]);
    expect(denied.code).toBe(0);
    expect(parseJsonLines(denied.stdout)).toMatchObject([{ sessionId: "denied", sessions: 1, difference: null }]);
    expect(read("TODO-REPORT.md")).toBe(report);
  });

  test("ends with 5 at the first difference, and says where it is: a shell that the runs had", async () => {
    const { pawl } = createWorld(files);
    await pawl(["run", "run: echo hello", "--yes", "--allow-shell", "--session", "shell"]);
    const named = parseJsonLines((await pawl(["replay", "shell", "--json"])).stdout);
    expect(named).toMatchObject([{ difference: { event: "prepared", path: "promptHash" } }]);
    expect((await pawl(["replay", "shell"])).stdout).toContain("If the runs had a shell, add\n--allow-shell.");
    const without = await pawl(["replay", "shell", "--ignore-prompt"]);
    expect(without.code).toBe(5);
    expect(without.stdout).toContain("(tool_decided): the current code behaves differently.");
    expect(without.stdout).toContain('  at        decision.verdict\n  recorded  "allow"\n  now       "reject"\n');
    const json = parseJsonLines((await pawl(["replay", "shell", "--ignore-prompt", "--json"])).stdout);
    expect(json).toMatchObject([
      { difference: { event: "tool_decided", path: "decision.verdict", present: "reject" } },
    ]);
    expect((await pawl(["replay", "shell", "--allow-shell"])).code).toBe(0);
  });

  test("of a session that is not there, or not of pawl run, is a mistake", async () => {
    const { pawl } = createWorld(files);
    expect(await pawl(["replay", "nothing"])).toMatchObject({ code: 2, stderr: expect.stringContaining("no session") });
    const help = await pawl(["replay", "--help"]);
    expect(help.stdout).toContain("$ pawl replay 3f8c");
    expect(help.stdout).toContain("5 a difference");
  });
});

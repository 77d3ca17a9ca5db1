/**
 * Rules that an earlier version stored, and that this one cannot read.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { resolveProjectFolder } from "../../src/cli/permissions/project-folder.js";
import { verifies } from "../verifies.js";
import { createWorld } from "./pawl.js";

test(
  "a stored rule that cannot be read says how to remove it, and can be removed",
  verifies("CHAT-2#rules"),
  async () => {
    const { pawl, root, home } = createWorld({ "a.txt": "" });
    const folder = resolveProjectFolder(home, root);
    mkdirSync(folder, { recursive: true });
    const rules = { allow: ["Bash", "Read(src/**)"], deny: ["shell(rm *)"] };
    writeFileSync(join(folder, "permissions.json"), JSON.stringify({ folder: root, ...rules }));
    expect(await pawl(["permissions"])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(
        'The permission rule "Bash" (yours, for this folder) cannot be read: there is no tool Bash. Did you mean shell? To remove it: pawl permissions remove Bash',
      ),
    });
    // Nothing runs without all rules.
    expect(await pawl(["run", "List the files"])).toMatchObject({ code: 2 });
    expect(await pawl(["permissions", "remove", "Bash"])).toMatchObject({
      code: 0,
      stdout: "Removed: allow  Bash  (yours, for this folder)\n",
    });
    expect((await pawl(["permissions"])).stderr).toContain("To remove it: pawl permissions remove 'Read(src/**)'");
    const unreadable = await pawl(["permissions", "--json", "remove", "Read(src/**)"]);
    expect(JSON.parse(unreadable.stdout)).toEqual({ rule: "Read(src/**)", verdict: "allow", scope: "project" });
    expect(await pawl(["permissions"])).toMatchObject({
      code: 0,
      stdout: "deny   shell(rm *)  (yours, for this folder)\n",
    });
    const removed = await pawl(["permissions", "--json", "remove", "shell(rm *)"]);
    expect(JSON.parse(removed.stdout)).toMatchObject({ rule: "shell(rm *)", verdict: "deny", scope: "project" });
    expect(await pawl(["permissions", "remove", "shell(rm *)"])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("There is no rule"),
    });
  },
);

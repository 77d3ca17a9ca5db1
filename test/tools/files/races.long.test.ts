import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync, renameSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { assertNotReplaced, closeFolder, openRootFolder, openSubfolder } from "../../../src/tools/files/folder.js";
import { createListFiles, createReadFile } from "../../../src/tools/files/read-files.js";
import { replaceFile } from "../../../src/tools/files/replace-file.js";
import { createRoot } from "../../../src/tools/files/root.js";
import { createEditFile, createWriteFile } from "../../../src/tools/files/write-files.js";
import { createFileTools } from "../../../src/tools/index.js";
import { createSearchFiles } from "../../../src/tools/search/search-files.js";
import { verifies } from "../../verifies.js";
import { createTempFolder, runTool } from "../folder.js";

const fixtures = join(import.meta.dirname, "../../fixtures");

/** Starts a script, and waits until it says that it is ready. */
async function start(script: string, args: readonly string[]): Promise<ChildProcess> {
  const child = spawn(process.execPath, [join(fixtures, script), ...args], { stdio: ["pipe", "pipe", "inherit"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  const [said] = await once(child.stdout, "data");
  expect(String(said)).toBe("ready\n");
  return child;
}

const slots = (count: number) => Array.from({ length: count }, (_, slot) => `slot ${slot}: open\n`).join("");

function doneSlots(root: string): readonly number[] {
  const text = readFileSync(join(root, "slots.txt"), "utf8");
  return [...text.matchAll(/^slot (\d+): done$/gm)].map(([, slot]) => Number(slot));
}

describe("edits of one file", () => {
  test("from two tool sets of a process are all made", verifies("SEC-8"), async () => {
    const root = createTempFolder({ "slots.txt": slots(100), "a/b/note.txt": "" });
    const sets = [createFileTools({ root }), createFileTools({ root: join(root, "a/b/../..") })];
    const edit = (slot: number) =>
      runTool(sets[slot % 2] ?? [], "edit_file", {
        path: "slots.txt",
        oldText: `slot ${slot}: open\n`,
        newText: `slot ${slot}: done\n`,
      });
    const results = await Promise.all(Array.from({ length: 100 }, (_, slot) => edit(slot)));
    expect(results.filter((result) => !result.startsWith("Replaced 1 occurrence"))).toEqual([]);
    expect(doneSlots(root)).toHaveLength(100);
    expect(readdirSync(root)).toEqual(["a", "slots.txt"]);
  });

  test("from two processes are in the file if they were reported as done", verifies("SEC-8"), async () => {
    const root = createTempFolder({ "slots.txt": slots(100) });
    const children = await Promise.all([0, 50].map((first) => start("edit-slots.mjs", [root, String(first), "50"])));
    const reported = await Promise.all(
      children.map(async (child) => {
        child.stdin?.end("go\n");
        const [said] = await once(child.stdout ?? child, "data");
        return JSON.parse(String(said)) as number[];
      }),
    );
    expect(doneSlots(root)).toEqual(reported.flat());
    expect(readdirSync(root)).toEqual(["slots.txt"]);
    expect(reported.flat().length).toBeGreaterThan(0);
  });

  test("are given up if the file is another one than was read", verifies("SEC-8"), async () => {
    const root = createTempFolder({ "f.txt": "old" });
    const folder = await openRootFolder(root, "descriptor");
    onTestFinished(() => closeFolder(folder));
    const path = join(root, "f.txt");
    const signal = new AbortController().signal;
    const snapshot = { stats: statSync(path), bytes: Buffer.from("old") };
    const replacement = { folder, name: "f.txt", displayPath: "f.txt", content: "new", snapshot, signal };
    writeFileSync(path, "odd");
    await expect(replaceFile(replacement)).rejects.toThrow("f.txt was changed by another program");
    expect(readFileSync(path, "utf8")).toBe("odd");
    expect(readdirSync(root)).toEqual(["f.txt"]);
  });

  test("go on after a process has died in the middle of one", verifies("SEC-8"), async () => {
    const root = createTempFolder({ "f.txt": "old" });
    const tools = createFileTools({ root });
    const draft = ".f.txt.e4723ca5.draft";
    writeFileSync(join(root, draft), "left behind");
    expect(await runTool(tools, "edit_file", { path: "f.txt", oldText: "old", newText: "new" })).toContain("Replaced");
    expect(readFileSync(join(root, "f.txt"), "utf8")).toBe("new");
    expect(existsSync(join(root, draft))).toBe(false);
  });

  test("do not wait longer than the run", async () => {
    const root = createTempFolder({ "f.txt": "old" });
    const controller = new AbortController();
    const tools = createFileTools({ root });
    const edits = [1, 2, 3].map(() =>
      runTool(tools, "edit_file", { path: "f.txt", oldText: "old", newText: "new" }, controller.signal),
    );
    controller.abort(new Error("no more"));
    expect(await Promise.all(edits)).toEqual(["Error: no more", "Error: no more", "Error: no more"]);
    expect(readdirSync(root)).toEqual(["f.txt"]);
  });
});

test("a process that swaps a folder for a link leads no tool out of the root", verifies("SEC-8"), async () => {
  const world = createTempFolder({
    "root/src/a.txt": "inside",
    "outside/secret.txt": "secret",
    "outside/a.txt": "secret",
  });
  const root = join(world, "root");
  await start("swap-folder.mjs", [root, join(world, "outside")]);
  const tools = createFileTools({ root });
  for (let round = 0; round < 15; round += 1) {
    const [read, found, listed] = await Promise.all([
      runTool(tools, "read_file", { path: "src/a.txt" }),
      runTool(tools, "search_files", { text: "secret" }),
      runTool(tools, "list_files", { path: "src" }),
      ...Array.from({ length: 10 }, (_, n) =>
        runTool(tools, "write_file", { path: `src/made-${round}-${n}/deep/b.txt`, content: "x" }),
      ),
      runTool(tools, "edit_file", { path: "src/a.txt", oldText: "secret", newText: "stolen" }),
    ]);
    expect(read).not.toContain("secret");
    expect(found).not.toContain("txt:1: secret");
    expect(listed).not.toContain("secret.txt");
  }
  expect(readdirSync(join(world, "outside")).sort()).toEqual(["a.txt", "secret.txt"]);
  expect(readFileSync(join(world, "outside/a.txt"), "utf8")).toBe("secret");
});

describe("without descriptors of folders, as on other systems than Linux", () => {
  test("the tools do the same", verifies("SEC-8"), async () => {
    const root = createRoot(createTempFolder({ "src/a.txt": "one" }), [], "path");
    const tools = [createListFiles, createReadFile, createSearchFiles, createWriteFile, createEditFile].map((create) =>
      create(root),
    );
    expect(await runTool(tools, "write_file", { path: "src/b/c.txt", content: "two\n" })).toContain("a new file");
    expect(await runTool(tools, "edit_file", { path: "src/a.txt", oldText: "one", newText: "two" })).toContain("Repl");
    expect(await runTool(tools, "list_files", {})).toBe("src/a.txt\nsrc/b/c.txt\n(2 files)");
    expect(await runTool(tools, "search_files", { text: "two" })).toContain("(2 lines in 2 files; 2 files searched)");
    expect(await runTool(tools, "read_file", { path: "src/b/c.txt" })).toBe("1\ttwo");
  });

  test("a folder that was replaced is seen after it was opened", verifies("SEC-8"), async () => {
    const world = createTempFolder({ "root/src/a.txt": "inside", "outside/a.txt": "secret" });
    const top = await openRootFolder(join(world, "root"), "path");
    const folder = await openSubfolder(top, "src");
    onTestFinished(() => [top, folder].forEach(closeFolder));
    await assertNotReplaced(folder);
    renameSync(join(world, "root/src"), join(world, "root/moved"));
    symlinkSync(join(world, "outside"), join(world, "root/src"));
    await expect(assertNotReplaced(folder)).rejects.toThrow("was replaced");
    await expect(openSubfolder(top, "src")).rejects.toThrow("is a link");
  });
});

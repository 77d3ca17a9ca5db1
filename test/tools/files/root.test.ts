import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { AnyTool } from "../../../src/ports/tool.js";
import { createFileTools } from "../../../src/tools/file-tools.js";
import { isWithin } from "../../../src/tools/files/root.js";
import { explainSystemError } from "../../../src/tools/files/system-errors.js";
import { verifies } from "../../verifies.js";
import { createTempFolder, runTool } from "../folder.js";

/** Every tool, each with what it needs besides a path. */
const everyTool: readonly [name: string, input: object][] = [
  ["list_files", {}],
  ["read_file", {}],
  ["search_files", { text: "secret" }],
  ["write_file", { content: "written" }],
  ["edit_file", { oldText: "secret", newText: "written" }],
];

function createWorld(): { readonly root: string; readonly outside: string; readonly tools: readonly AnyTool[] } {
  const world = createTempFolder({
    "root/src/a.ts": "secret\n",
    "outside/secret.txt": "secret\n",
    "root-beside/secret.txt": "secret\n",
  });
  const root = join(world, "root");
  symlinkSync(join(world, "outside"), join(root, "link"));
  symlinkSync(join(world, "outside/secret.txt"), join(root, "link.txt"));
  symlinkSync(join(world, "outside/new.txt"), join(root, "dangling"));
  symlinkSync("loop-b", join(root, "loop-a"));
  symlinkSync("loop-a", join(root, "loop-b"));
  symlinkSync("src", join(root, "inner"));
  return { root, outside: join(world, "outside"), tools: createFileTools({ root }) };
}

describe.each(everyTool)("%s", (name, input) => {
  const badPaths: readonly [what: string, path: (root: string) => string, error: RegExp][] = [
    ["an absolute path", () => "/etc/passwd", /leads out of the root/],
    ["a path upwards", () => "../outside/secret.txt", /leads out of the root/],
    ["a path upwards from inside", () => "src/../../outside/secret.txt", /leads out of the root/],
    ["a folder whose name begins like the root's", (root) => `${root}-beside/secret.txt`, /leads out of the root/],
    ["a link to a folder outside", () => "link/secret.txt", /leads out of the root/],
    ["a link to a file outside", () => "link.txt", /leads out of the root/],
    ["a link to nothing outside", () => "dangling", /a link whose target does not exist/],
    ["a circle of links", () => "loop-a", /a loop of links/],
    ["a NUL", () => "src/a.ts\0.md", /NUL character/],
    ["a home folder", () => "~/secret.txt", /"~" is not expanded/],
    ["a file as a folder", () => "src/a.ts/b", /not a folder/],
    ["a name that is too long", () => "x".repeat(300), /too long/],
  ];
  test.each(badPaths)("refuses %s", verifies("SEC-8"), async (_what, path, error) => {
    const { root, outside, tools } = createWorld();
    const result = await runTool(tools, name, { ...input, path: path(root) });
    expect(result).toMatch(/^Error: /);
    expect(result).toMatch(error);
    expect(existsSync(join(outside, "new.txt"))).toBe(false);
    expect(readFileSync(join(outside, "secret.txt"), "utf8")).toBe("secret\n");
  });

  test("does not wait for a pipe, and reads no device", verifies("SEC-8"), async () => {
    const { root, tools } = createWorld();
    execFileSync("sh", ["-c", "mkfifo pipe"], { cwd: root });
    const result = await runTool(tools, name, { ...input, path: "pipe" });
    expect(result).toMatch(/^Error: pipe (is not a regular file|is not a folder)/);
  });

  test("goes by links that stay inside, and by absolute paths that do", verifies("SEC-8"), async () => {
    const { root, tools } = createWorld();
    const path = name === "list_files" ? "inner" : "inner/a.ts";
    expect(await runTool(tools, name, { ...input, path })).toMatch(name === "read_file" ? /^1\tsecret$/ : /src\/a\.ts/);
    const absolute = join(root, name === "list_files" ? "src" : "src/a.ts");
    expect(await runTool(tools, name, { ...input, path: absolute })).not.toMatch(/leads out/);
  });
});

describe("what is never written", () => {
  const paths = [
    ".git/config",
    ".git/hooks/pre-commit",
    "packages/a/.git",
    ".GIT/config",
    ".pawl/hooks.ts",
    ".Pawl",
    "pawl.config.ts",
    "a/pawl.config.mjs",
    "state/sessions.db",
    "kept.txt",
  ];
  test.each(paths)("%s, though it does not exist", verifies("SEC-8"), async (path) => {
    const root = createTempFolder({ "src/a.ts": "" });
    const tools = createFileTools({ root, protect: ["state", join(root, "kept.txt")] });
    const result = await runTool(tools, "write_file", { path, content: "x" });
    expect(result).toMatch(/^Error: .* is protected/);
    expect(existsSync(join(root, path))).toBe(false);
  });

  test("nor by a link, nor by an edit", verifies("SEC-8"), async () => {
    const root = createTempFolder({ ".git/config": "old", "a.txt": "" });
    symlinkSync(".git", join(root, "inner"));
    const tools = createFileTools({ root });
    expect(await runTool(tools, "write_file", { path: "inner/config", content: "x" })).toContain("is protected");
    expect(await runTool(tools, "edit_file", { path: ".git/config", oldText: "old", newText: "x" })).toContain(
      "is protected",
    );
    expect(readFileSync(join(root, ".git/config"), "utf8")).toBe("old");
  });

  test("while names that only look alike are", verifies("SEC-8"), async () => {
    const root = createTempFolder();
    const tools = createFileTools({ root, protect: ["state"] });
    for (const path of [".gitignore", ".github/workflows/ci.yml", "state.txt", "stateful/a.txt", "pawl.config"])
      expect(await runTool(tools, "write_file", { path, content: "x" })).toContain(`Wrote ${path}`);
  });
});

test("a root that is no folder is refused", () => {
  const folder = createTempFolder({ "a.txt": "" });
  for (const root of [join(folder, "none"), join(folder, "a.txt")])
    expect(() => createFileTools({ root })).toThrow(expect.objectContaining({ code: "bad_configuration" }));
});

test("a root may itself be named by a link", async () => {
  const folder = createTempFolder({ "real/a.txt": "here" });
  symlinkSync(join(folder, "real"), join(folder, "alias"));
  const tools = createFileTools({ root: join(folder, "alias") });
  expect(await runTool(tools, "read_file", { path: "a.txt" })).toBe("1\there");
  expect(await runTool(tools, "read_file", { path: join(folder, "alias/a.txt") })).toBe("1\there");
});

test("paths are compared with a separator", verifies("SEC-8"), () => {
  expect(isWithin("/a", "/a")).toBe(true);
  expect(isWithin("/a", "/a/b")).toBe(true);
  expect(isWithin("/a", "/ab")).toBe(false);
  expect(isWithin("/", "/a")).toBe(true);
});

test("what the system says is put in words", () => {
  const denied = Object.assign(new Error("EACCES: permission denied, open '/x/y'"), { code: "EACCES" });
  expect(explainSystemError(denied, "y").message).toBe("y may not be accessed: permission denied.");
  expect(explainSystemError("odd", "y").message).toBe("odd");
});

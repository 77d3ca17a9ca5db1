import { execFileSync } from "node:child_process";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { createFileTools } from "../../../src/tools/index.js";
import { createTempFolder, runTool } from "../folder.js";

const project = {
  ".gitignore": "dist/\n*.log\n!keep.log\n",
  "src/a.ts": "one TODO\n",
  "src/debug.log": "TODO\n",
  "src/keep.log": "TODO\n",
  "src/gen/.gitignore": "*\n!kept.ts\n",
  "src/gen/made.ts": "TODO\n",
  "src/gen/kept.ts": "TODO\n",
  "dist/a.js": "TODO\n".repeat(500),
  "dist/.gitignore": "!a.js\n",
};

beforeEach(() => void vi.stubEnv("XDG_CONFIG_HOME", undefined));
afterEach(() => void vi.unstubAllEnvs());

describe("what Git ignores", () => {
  test("is left out of a list and of a search, and both say so", async () => {
    const tools = createFileTools({ root: createTempFolder(project) });
    expect(await runTool(tools, "list_files", {})).toBe(
      ".gitignore\nsrc/a.ts\nsrc/gen/kept.ts\nsrc/keep.log\n(4 files; 4 paths that Git ignores left out)",
    );
    expect(await runTool(tools, "search_files", { text: "TODO" })).toBe(
      "src/a.ts:1: one TODO\nsrc/gen/kept.ts:1: TODO\nsrc/keep.log:1: TODO\n" +
        "(3 lines in 3 files; 4 files searched; 4 paths that Git ignores left out)",
    );
    expect(await runTool(tools, "search_files", { text: "nowhere" })).toContain(
      "4 paths that Git ignores left out, which all: true includes",
    );
  });

  test("is found although a file .git has a very long line, which a stranger may have written", async () => {
    const root = createTempFolder({
      ".git": `gitdir: a${" ".repeat(200_000)}b\n`,
      ".gitignore": "*.log\n",
      "a.log": "",
      "a.ts": "",
    });
    expect(await runTool(createFileTools({ root }), "list_files", {})).toContain("a.ts");
  });

  test("is looked at if the call says so, or names the folder", async () => {
    const tools = createFileTools({ root: createTempFolder(project) });
    expect(await runTool(tools, "search_files", { text: "TODO", all: true })).toContain("(505 lines in 6 files, ");
    expect(await runTool(tools, "list_files", { all: true })).toContain("(9 files)");
    expect(await runTool(tools, "list_files", { path: "dist" })).toBe("dist/.gitignore\ndist/a.js\n(2 files)");
    expect(await runTool(tools, "search_files", { text: "TODO", path: "dist/a.js", limit: 1 })).toContain("(500 lines");
    expect(await runTool(tools, "list_files", { path: "src" })).toBe(
      "src/a.ts\nsrc/gen/kept.ts\nsrc/keep.log\n(3 files; 3 paths that Git ignores left out)",
    );
  });

  test("is ruled by the folders above the root too, the repository's own excludes, and the person's", async () => {
    const top = createTempFolder({
      ".gitignore": "*.tmp\n/packages/a/out\n",
      ".git/info/exclude": "private.txt\n",
      "packages/a/b.tmp": "",
      "packages/a/out": "",
      "packages/a/private.txt": "",
      "packages/a/note.swp": "",
      "packages/a/c.ts": "",
      "packages/a/vendor/.git/HEAD": "",
      "packages/a/vendor/d.tmp": "",
      "packages/a/vendor/e.swp": "",
      "home/.gitconfig": "[core]\n\texcludesFile = ~/my-excludes # mine\n",
      "home/my-excludes": "*.swp\n",
      "home/.config/git/ignore": "c.ts\n",
    });
    vi.stubEnv("HOME", join(top, "home"));
    const tools = createFileTools({ root: join(top, "packages/a") });
    expect(await runTool(tools, "list_files", {})).toBe(
      "c.ts\nvendor/d.tmp\n(2 files; 5 paths that Git ignores left out)",
    );
  });

  test("is not ruled by a link, a pipe or a folder of the name", async () => {
    const root = createTempFolder({ "a.ts": "", "rules/all": "*\n", "in/.gitignore/x.ts": "", "in/b.ts": "" });
    symlinkSync("rules/all", join(root, ".gitignore"));
    mkdirSync(join(root, "pipe"));
    execFileSync("mkfifo", [join(root, "pipe/.gitignore")]);
    expect(await runTool(createFileTools({ root }), "list_files", {})).toBe(
      ".gitignore\na.ts\nin/.gitignore/x.ts\nin/b.ts\npipe/.gitignore\nrules/all\n(6 files)",
    );
  });
});

/** Names and patterns in which the rules of Git differ from plainer ones. */
const name = fc.constantFrom("a", "b", "ab", "abc", "a.b", "a b", "é", "[a]", "#a", "!a", "-", "A1", "z\\");
const path = fc.array(name, { minLength: 1, maxLength: 4 }).map((names) => names.join("/"));
const piece = fc.constantFrom(
  ...[
    "a",
    "b",
    "c",
    ".",
    "*",
    "**",
    "?",
    "/",
    "/",
    "**/",
    "/**",
    "[ab]",
    "[!a]",
    "[^b]",
    "[a-c]",
    "[]a]",
    "[[:alpha:]]",
  ],
  ...[
    "[[:digit:][:upper:]]",
    "[a",
    "\\*",
    "\\[",
    "\\a",
    "\\",
    " ",
    "\\ ",
    "é",
    "#",
    "!",
    "-",
    "[\\]a]",
    "[a-]",
    "***",
    "1",
  ],
);
const pattern = fc
  .tuple(
    fc.constantFrom("", "", "!", "/", "#"),
    fc.array(piece, { minLength: 1, maxLength: 5 }),
    fc.constantFrom("", "/", " "),
  )
  .map(([start, pieces, end]) => `${start}${pieces.join("")}${end}`);
const rules = fc.array(fc.oneof(pattern, pattern, path), { maxLength: 6 }).map((lines) => `${lines.join("\n")}\n`);

test("what Git ignores in random folders with random rules is what Git itself ignores", {
  timeout: 900_000,
}, async () => {
  const tree = fc.record({
    paths: fc.uniqueArray(path, { minLength: 1, maxLength: 12 }),
    top: rules,
    exclude: rules,
    inner: fc.array(fc.tuple(path, rules), { maxLength: 3 }),
  });
  await fc.assert(
    fc.asyncProperty(tree, async ({ paths, top, exclude, inner }) => {
      const root = createTempFolder();
      vi.stubEnv("HOME", root);
      const git = (...args: readonly string[]) =>
        execFileSync("git", args, { cwd: root, env: { ...process.env, GIT_CONFIG_NOSYSTEM: "1" } }).toString();
      git("init", "--quiet");
      const write = (file: string, content: string) => {
        try {
          mkdirSync(dirname(join(root, file)), { recursive: true });
          writeFileSync(join(root, file), content);
        } catch {
          // One path may be a folder of another one.
        }
      };
      for (const file of paths) write(file, "");
      write(".gitignore", top);
      write(".git/info/exclude", exclude);
      for (const [folder, content] of inner) write(`${folder}/.gitignore`, content);
      const expected = git("ls-files", "--others", "--exclude-standard", "-z").split("\0").filter(Boolean);
      const listed = await runTool(createFileTools({ root }), "list_files", { limit: 1000 });
      const lines = listed.split("\n").slice(0, -1);
      expect([...lines].sort()).toEqual(expected.sort());
    }),
    { numRuns: 60 },
  );
});

import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import picomatch from "picomatch";
import { describe, expect, test } from "vitest";
import { compileGlob } from "../../../src/tools/files/glob.js";
import { createFileTools } from "../../../src/tools/index.js";
import { verifies } from "../../verifies.js";
import { createTempFolder, createToolContext, runTool } from "../folder.js";

describe("names that are protected", () => {
  test("stay so if they are links into the root, by either name", verifies("SEC-8"), async () => {
    const root = createTempFolder({ "gitdata/config": "old", "settings.ts": "old", "pkg/data/config": "old" });
    symlinkSync("gitdata", join(root, ".git"));
    symlinkSync("settings.ts", join(root, "pawl.config.ts"));
    symlinkSync("data", join(root, "pkg/.git"));
    const tools = createFileTools({ root });
    const paths = [".git/config", ".git/hooks/new", "gitdata/config", "gitdata/hooks/new", "pawl.config.ts"];
    for (const path of [...paths, "settings.ts", "pkg/.git/config", "pkg/data/config"]) {
      expect(await runTool(tools, "write_file", { path, content: "x" })).toContain("is protected");
      expect(await runTool(tools, "edit_file", { path, oldText: "old", newText: "x" })).toMatch(/^Error: /);
    }
    for (const path of ["gitdata/config", "settings.ts", "pkg/data/config"])
      expect(readFileSync(join(root, path), "utf8")).toBe("old");
    expect(readdirSync(join(root, "gitdata"))).toEqual(["config"]);
  });

  test("are protected by the path that was asked for, too", verifies("SEC-8"), async () => {
    const root = createTempFolder({ "a/x.txt": "old" });
    symlinkSync("a", join(root, "state"));
    const tools = createFileTools({ root, protect: ["state/sessions.db"] });
    for (const path of ["state/sessions.db", "a/sessions.db"])
      expect(await runTool(tools, "write_file", { path, content: "x" })).toContain("is protected");
  });
});

describe("a text that no file can hold", () => {
  const half = "a\ud83d";
  test("is not written", verifies("SEC-8"), async () => {
    const root = createTempFolder({ "f.txt": "one 🎉" });
    const tools = createFileTools({ root });
    expect(await runTool(tools, "write_file", { path: "f.txt", content: half })).toMatch(/^Error: .*lone surrogate/);
    const edits = [
      { oldText: "one", newText: half },
      { oldText: "\ud83c", newText: "x" },
    ];
    for (const edit of edits)
      expect(await runTool(tools, "edit_file", { path: "f.txt", ...edit })).toMatch(/^Error: .*lone surrogate/);
    expect(readFileSync(join(root, "f.txt"), "utf8")).toBe("one 🎉");
  });
});

test("an edit makes no file that is too large to be read", verifies("SEC-8"), async () => {
  const root = createTempFolder({ "f.txt": "x".repeat(10_000) });
  const edit = { path: "f.txt", oldText: "x", newText: "y".repeat(2_000), replaceAll: true };
  expect(await runTool(createFileTools({ root }), "edit_file", edit)).toBe(
    "Error: f.txt would have 20000000 bytes, and 16777216 are allowed. Replace fewer occurrences, or use a shorter text.",
  );
  expect(readFileSync(join(root, "f.txt"), "utf8")).toHaveLength(10_000);
});

describe("names with control characters", () => {
  const forged = "a\n(1 file)\r\u001b[2K\u2028b.txt";
  const escaped = '"a\\n(1 file)\\r\\u001b[2K\\u2028b.txt"';

  test("are escaped wherever they are shown", verifies("SEC-8"), async () => {
    const root = createTempFolder({ [forged]: "here\n", '"quoted".txt': "", "plain é.txt": "" });
    const tools = createFileTools({ root });
    expect(await runTool(tools, "list_files", {})).toBe(`"\\"quoted\\".txt"\n${escaped}\nplain é.txt\n(3 files)`);
    const found = await runTool(tools, "search_files", { text: "here" });
    expect(found).toBe(`${escaped}:1: here\n(1 line in 1 file; 3 files searched)`);
    const written = await runTool(tools, "write_file", { path: forged, content: "new" });
    expect(written).toBe(`Wrote ${escaped} (3 bytes, 1 line; replaced the old content)`);
    expect(await runTool(tools, "edit_file", { path: forged, oldText: "x", newText: "y" })).not.toContain("\n");
    expect(await runTool(tools, "read_file", { path: `${forged}/x` })).not.toContain("\n");
  });

  test("name the file if they are read as JSON", verifies("SEC-8"), async () => {
    const root = createTempFolder({ [forged]: "here\n" });
    expect(await runTool(createFileTools({ root }), "read_file", { path: JSON.parse(escaped) })).toBe("1\there");
  });
});

describe("inputs beyond their bounds", () => {
  const long = "x".repeat(1024 * 1024 + 1);
  const inputs: readonly [name: string, field: string, input: object][] = [
    ["list_files", "path", { path: long }],
    ["list_files", "pattern", { pattern: long }],
    ["read_file", "path", { path: "a/".repeat(8000) }],
    ["search_files", "text", { text: long }],
    ["search_files", "path", { text: "a", path: long }],
    ["search_files", "pattern", { text: "a", pattern: long }],
    ["write_file", "path", { path: long, content: "" }],
    ["write_file", "content", { path: "a", content: long }],
    ["edit_file", "path", { path: long, oldText: "a", newText: "b" }],
    ["edit_file", "oldText", { path: "a", oldText: long, newText: "b" }],
    ["edit_file", "newText", { path: "a", oldText: "a", newText: long }],
  ];
  test.each(inputs)("are refused: %s, %s", verifies("SEC-15"), async (name, field, input) => {
    const tools = createFileTools({ root: createTempFolder({ a: "a" }) });
    expect(await runTool(tools, name, input)).toMatch(new RegExp(`^Error: ${field}: `));
    const execute = tools.find((tool) => tool.name === name)?.execute;
    await expect(Promise.resolve(execute?.(input, createToolContext()))).rejects.toThrow(
      /\d+ are allowed|contains|longer/,
    );
  });
});

test("folders that are too deep are left out, and it is said", async () => {
  const root = createTempFolder({ "a.txt": "here\n" });
  const deep = Array.from({ length: 120 }, () => "d").join("/");
  mkdirSync(join(root, deep), { recursive: true });
  writeFileSync(join(root, deep, "b.txt"), "here\n");
  const tools = createFileTools({ root });
  const said = "folders below 100 levels left out";
  expect(await runTool(tools, "list_files", {})).toBe(`a.txt\n(1 file; ${said})`);
  expect(await runTool(tools, "search_files", { text: "here" })).toContain(said);
  expect(await runTool(tools, "list_files", { path: deep })).toContain("b.txt");
});

test("a folder of many entries is listed in order", async () => {
  const names = Array.from({ length: 2_500 }, (_, index) => `${(index * 7919) % 2_500}.txt`);
  const root = createTempFolder(Object.fromEntries(names.map((name) => [name, ""])));
  const listed = (await runTool(createFileTools({ root }), "list_files", { limit: 10_000 })).split("\n");
  expect(listed.slice(0, -1)).toEqual([...names].sort());
});

test("patterns say what picomatch says of them", verifies("SEC-15"), () => {
  const part = fc.constantFrom(
    "a",
    "b",
    "é",
    "*",
    "?",
    "**",
    "/",
    "/**/",
    "**/",
    "/*",
    ".a",
    "{a,b}",
    "{*.a,a/b}",
    "{a,{b,.a}}",
  );
  const path = fc.array(fc.constantFrom("a", "b", "é", ".a", "/"), { minLength: 1, maxLength: 7 });
  fc.assert(
    fc.property(fc.array(part, { minLength: 1, maxLength: 5 }), path, (parts, names) => {
      const pattern = `a/${parts.join("")}`;
      const tested = names.join("");
      fc.pre(isPlain(pattern) && isPlain(tested));
      expect([pattern, tested, compileGlob(pattern)(tested)]).toEqual([
        pattern,
        tested,
        picomatch(pattern, { dot: true })(tested),
      ]);
    }),
    { numRuns: 5_000 },
  );
});

/** Not what the two understand differently on purpose: empty names, a slash at the end, and three stars in a row. */
function isPlain(text: string): boolean {
  return !/\/\/|^\/|\/$|\*\*\*/.test(text);
}

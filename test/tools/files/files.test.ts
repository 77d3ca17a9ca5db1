import { chmodSync, existsSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createAgent, type Model } from "../../../src/index.js";
import type { Reconciled } from "../../../src/ports/tool.js";
import { formatError } from "../../../src/runtime/lib/error-text.js";
import { createScriptedModel } from "../../../src/testing/index.js";
import { createFileTools } from "../../../src/tools/file-tools.js";
import { compileGlob } from "../../../src/tools/files/glob.js";
import { verifies } from "../../verifies.js";
import { createTempFolder, createToolContext, runTool } from "../folder.js";

const project = {
  "README.md": "# Title\n\nText.\n",
  "src/b.ts": "const b = 1; // TODO: name it\n",
  "src/a/c.ts": "export const c = 2;\n// todo later\n",
  "src/a/d.js": "TODOS and TODO.\n",
  "node_modules/x/index.js": "// TODO: not ours\n",
  ".git/HEAD": "ref: TODO\n",
};

describe("list_files", () => {
  const cases: readonly [what: string, input: object, output: string][] = [
    ["all", {}, "README.md\nsrc/a/c.ts\nsrc/a/d.js\nsrc/b.ts\n(4 files)"],
    ["a folder", { path: "src/a" }, "src/a/c.ts\nsrc/a/d.js\n(2 files)"],
    ["a pattern for names", { pattern: "*.ts" }, "src/a/c.ts\nsrc/b.ts\n(2 files)"],
    ["a pattern from the root", { path: "src", pattern: "src/a/*" }, "src/a/c.ts\nsrc/a/d.js\n(2 files)"],
    ["a pattern from the folder", { path: "src", pattern: "a/**" }, "src/a/c.ts\nsrc/a/d.js\n(2 files)"],
    ["one level", { depth: 1 }, ".git/\nREADME.md\nnode_modules/\nsrc/\n(4 entries)"],
    ["two levels", { path: "src", depth: 2 }, "src/a/\nsrc/a/c.ts\nsrc/a/d.js\nsrc/b.ts\n(4 entries)"],
    ["what is left out else", { all: true, pattern: "*.js" }, "node_modules/x/index.js\nsrc/a/d.js\n(2 files)"],
    ["a limit", { limit: 1 }, "README.md\n(4 files, the first 1 shown)"],
    ["none that fit", { pattern: "*.py" }, "No files that match *.py in the root."],
    ["a folder that is not there", { path: "lib" }, "Error: lib does not exist."],
    ["a file", { path: "README.md" }, "Error: README.md is not a folder, or has a parent that is not a folder."],
    ["options it does not have", { recursive: true }, "Error: recursive: is not a property that the schema has"],
  ];
  test.each(cases)("lists %s", async (_what, input, output) => {
    const tools = createFileTools({ root: createTempFolder(project) });
    expect(await runTool(tools, "list_files", input)).toBe(output);
  });

  test("sees links and does not follow them", verifies("SEC-8"), async () => {
    const root = createTempFolder({ "a/x.txt": "" });
    symlinkSync("..", join(root, "a/up"));
    expect(await runTool(createFileTools({ root }), "list_files", {})).toBe("a/up\na/x.txt\n(2 files)");
  });

  test("stops when it is aborted", async () => {
    const tools = createFileTools({ root: createTempFolder(project) });
    expect(await runTool(tools, "list_files", {}, AbortSignal.abort(new Error("stopped")))).toBe("Error: stopped");
    expect(await runTool(tools, "search_files", { text: "x" }, AbortSignal.abort(new Error("stopped")))).toBe(
      "Error: stopped",
    );
  });
});

describe("read_file", () => {
  const lines = Array.from({ length: 2500 }, (_, index) => `line ${index + 1}`).join("\n");
  const files = {
    "a.txt": "one\ntwo\r\nthree",
    "empty.txt": "",
    "long.txt": lines,
    "wide.txt": "x".repeat(5000),
    "image.png": new Uint8Array([0x89, 0x50, 0, 1]),
    "latin.txt": new Uint8Array([0x63, 0x61, 0x66, 0xe9]),
    "bom.txt": "\ufefftext",
    "large.txt": "y".repeat(16 * 1024 * 1024 + 1),
    "many.txt": `${"z".repeat(1000)}\n`.repeat(1000),
  };
  const cases: readonly [what: string, input: object, output: string | RegExp][] = [
    ["a whole file", { path: "a.txt" }, "1\tone\n2\ttwo\n3\tthree"],
    ["a range", { path: "a.txt", startLine: 2, endLine: 2 }, "2\ttwo\n(lines 2 to 2 of 3)"],
    ["a range beyond the end", { path: "a.txt", startLine: 3, endLine: 99 }, "3\tthree\n(lines 3 to 3 of 3)"],
    [
      "a start beyond the end",
      { path: "a.txt", startLine: 4 },
      "Error: a.txt has only 3 lines. Give a smaller startLine.",
    ],
    [
      "a range that runs back",
      { path: "a.txt", startLine: 3, endLine: 2 },
      "Error: endLine is before startLine. Give a larger endLine.",
    ],
    ["a line that does not exist", { path: "a.txt", startLine: 0 }, /^Error: startLine: /],
    ["an empty file", { path: "empty.txt" }, "(empty.txt is empty)"],
    [
      "a long file",
      { path: "long.txt" },
      /\n2000\tline 2000\n\(lines 1 to 2000 of 2500; continue with startLine 2001\)$/,
    ],
    [
      "the rest of it",
      { path: "long.txt", startLine: 2001 },
      /^2001\tline 2001\n(?:.*\n)*2500\tline 2500\n\(lines 2001 to 2500 of 2500\)$/,
    ],
    ["a wide line", { path: "wide.txt" }, `1\t${"x".repeat(2000)}… (cut: the line has 5000 characters)`],
    ["more than anybody reads", { path: "many.txt" }, /\(lines 1 to 262 of 1000; continue with startLine 263\)$/],
    ["a binary file", { path: "image.png" }, "Error: image.png is a binary file (4 bytes) and cannot be read as text."],
    ["text in another encoding", { path: "latin.txt" }, "1\tcaf\ufffd\n(bytes that are not UTF-8 are shown as \ufffd)"],
    ["a byte order mark", { path: "bom.txt" }, "1\t\ufefftext"],
    [
      "a file that is too large",
      { path: "large.txt" },
      /^Error: large.txt has 16777217 bytes; files over 16777216 bytes are not read/,
    ],
    ["a folder", { path: "." }, "Error: . is a folder."],
    ["what is not there", { path: "none.txt" }, "Error: none.txt does not exist."],
  ];
  test.each(cases)("reads %s", async (_what, input, output) => {
    const result = await runTool(createFileTools({ root: createTempFolder(files) }), "read_file", input);
    if (typeof output === "string") expect(result).toBe(output);
    else expect(result).toMatch(output);
  });
});

describe("read_file of an image or a PDF", () => {
  const media: readonly [name: string, mediaType: string, bytes: Buffer][] = [
    ["a.png", "image/png", Buffer.from("\x89PNG\r\n\x1a\n\0\0", "latin1")],
    ["photo", "image/jpeg", Buffer.from("\xff\xd8\xff\xe0\0", "latin1")],
    ["a.gif", "image/gif", Buffer.from("GIF89a\x01\0", "latin1")],
    ["a.webp", "image/webp", Buffer.from("RIFF\x04\0\0\0WEBP", "latin1")],
    ["a.pdf", "application/pdf", Buffer.from("%PDF-1.7\n% text only\n")],
  ];

  test.each(media)("gives %s as %s", async (name, mediaType, bytes) => {
    const [, reader] = createFileTools({ root: createTempFolder({ [name]: bytes }) });
    expect(await reader?.execute?.({ path: name }, createToolContext())).toEqual({
      type: "content",
      parts: [
        { type: "file", mediaType, data: bytes.toString("base64"), filename: name },
        { type: "text", text: `${name} (${mediaType}, ${bytes.length} bytes)` },
      ],
    });
  });

  test("refuses one that no provider would take", async () => {
    const root = createTempFolder({
      "large.png": Buffer.from(`\x89PNG\r\n\x1a\n${"\0".repeat(5 * 1024 * 1024)}`, "latin1"),
    });
    expect(await runTool(createFileTools({ root }), "read_file", { path: "large.png" })).toMatch(
      /^Error: large\.png has \d+ bytes; images and PDFs over 5242880 bytes are not read\.$/,
    );
  });

  test.each([
    ["sees it, if it takes files in results", () => true, true],
    ["is told what it is, if it takes none", () => false, false],
  ])("the model %s", async (_what, takesInResults, isSeen) => {
    const [name, , bytes] = media[0] ?? ["", "", Buffer.alloc(0)];
    const requests: string[] = [];
    const scripted = createScriptedModel([
      { calls: [{ name: "read_file", input: { path: name } }] },
      { text: "Seen." },
    ]);
    const model: Model = {
      ...scripted,
      takesInResults,
      stream(request, signal) {
        requests.push(JSON.stringify(request.messages));
        return scripted.stream(request, signal);
      },
    };
    const agent = createAgent({ model, tools: createFileTools({ root: createTempFolder({ [name]: bytes }) }) });
    expect((await agent.run("look")).text).toBe("Seen.");
    expect(requests[1]?.includes(bytes.toString("base64"))).toBe(isSeen);
    if (!isSeen) expect(requests[1]).toContain("which this model cannot be shown");
  });
});

describe("search_files", () => {
  const cases: readonly [what: string, input: object, output: string][] = [
    [
      "a text",
      { text: "TODO" },
      "src/a/d.js:1: TODOS and TODO.\nsrc/b.ts:1: const b = 1; // TODO: name it\n(2 lines in 2 files; 4 files searched)",
    ],
    [
      "any case",
      { text: "todo", ignoreCase: true, path: "src", pattern: "*.ts" },
      "src/a/c.ts:2: // todo later\nsrc/b.ts:1: const b = 1; // TODO: name it\n(2 lines in 2 files; 2 files searched)",
    ],
    [
      "whole words",
      { text: "TODOS", wholeWord: true },
      "src/a/d.js:1: TODOS and TODO.\n(1 line in 1 file; 4 files searched)",
    ],
    [
      "a word that is only part of one",
      { text: "TOD", wholeWord: true },
      'No lines contain "TOD" (4 files searched under .)',
    ],
    [
      "one file",
      { text: "export", path: "src/a/c.ts" },
      "src/a/c.ts:1: export const c = 2;\n(1 line in 1 file; 1 file searched)",
    ],
    [
      "a limit",
      { text: "TODO", limit: 1 },
      "src/a/d.js:1: TODOS and TODO.\n(2 lines in 2 files, the first 1 shown; 4 files searched)",
    ],
    [
      "a regular expression",
      { text: "^(export )?const [bc] = \\d", regex: true },
      "src/a/c.ts:1: export const c = 2;\nsrc/b.ts:1: const b = 1; // TODO: name it\n(2 lines in 2 files; 4 files searched)",
    ],
    [
      "a regular expression in any case, as a whole word",
      { text: "t[a-z]*s", regex: true, ignoreCase: true, wholeWord: true },
      "src/a/d.js:1: TODOS and TODO.\n(1 line in 1 file; 4 files searched)",
    ],
    [
      "no line for an expression",
      { text: "^TODO$", regex: true },
      'No lines match "^TODO$" (4 files searched under .)',
    ],
    [
      "no invalid expression",
      { text: "a(b", regex: true },
      "Error: Invalid regular expression: error parsing regexp: missing closing ): `a(b`. Look-around and back-references are not supported.",
    ],
    [
      "no look-ahead",
      { text: "a(?=b)", regex: true },
      "Error: Invalid regular expression: error parsing regexp: invalid or unsupported Perl syntax: `(?=`. Look-around and back-references are not supported.",
    ],
    [
      "no expression that repeats itself without end",
      { text: "((a{30}){30}){30}", regex: true },
      "Error: The regular expression has too many repetitions. Use smaller numbers in braces, or * and +.",
    ],
    ["what a regular expression would be", { text: "(a+)+$" }, 'No lines contain "(a+)+$" (4 files searched under .)'],
    ["nothing", { text: "" }, "Error: text: must have at least 1 characters; got 0"],
    [
      "more than a line",
      { text: "a\nb" },
      "Error: The text spans several lines, but lines are searched one by one. Give part of a single line.",
    ],
    ["where nothing is", { text: "a", path: "lib" }, "Error: lib does not exist."],
  ];
  test.each(cases)("finds %s", verifies("SEC-15"), async (_what, input, output) => {
    const tools = createFileTools({ root: createTempFolder(project) });
    expect(await runTool(tools, "search_files", input)).toBe(output);
  });

  test("passes over what it cannot read, and says so", async () => {
    const root = createTempFolder({
      "a.txt": "here",
      "b.bin": "here\0",
      "large.txt": `here${" ".repeat(16 * 1024 * 1024)}`,
    });
    expect(await runTool(createFileTools({ root }), "search_files", { text: "here" })).toBe(
      "a.txt:1: here\n(1 line in 1 file; 2 files searched; 1 file over 16 MiB left out)",
    );
  });

  test("finds the end of a line by $, also where lines end with \\r\\n", async () => {
    const root = createTempFolder({ "a.txt": "one\r\ntwo one\r\none two\r\n" });
    expect(await runTool(createFileTools({ root }), "search_files", { text: "one$", regex: true })).toBe(
      "a.txt:1: one\na.txt:2: two one\n(2 lines in 1 file; 1 file searched)",
    );
  });

  test("searches only the beginning of a line that is too long for one match, and says so", async () => {
    const root = createTempFolder({ "a.txt": `needle ${"-".repeat(2_000_000)} pin\npin\n` });
    const search = (text: string) => runTool(createFileTools({ root }), "search_files", { text, regex: true });
    expect(await search("p[i]n")).toBe(
      "a.txt:2: pin\n(1 line in 1 file; 1 file searched; 1 line searched only at the beginning)",
    );
    expect(await search("n[e]+dle")).toMatch(/^a\.txt:1: needle -+…\n\(1 line in 1 file;/);
  });

  test("finds by an expression what JavaScript finds", async () => {
    const lines = Array.from({ length: 400 }, (_, at) => `${at.toString(2)} ${at.toString(36)}_${at % 7}é`);
    const tools = createFileTools({ root: createTempFolder({ "a.txt": lines.join("\n") }) });
    for (const text of ["1[01]{3}0 ", "^1+ ", "_[35]é$", "(10)+ [a-f]", "\\b[a-z]\\w_", "^\\d+ .z", "x|y.*6"]) {
      const found = await runTool(tools, "search_files", { text, regex: true, limit: 400 });
      const expected = lines.filter((line) => new RegExp(text).test(line));
      expect(
        found
          .split("\n")
          .slice(0, -1)
          .map((line) => line.replace(/^a\.txt:\d+: /, "")),
      ).toEqual(expected);
    }
  });

  test("shows a long line around its match", async () => {
    const root = createTempFolder({ "a.txt": `${"a".repeat(1000)}needle${"b".repeat(1000)}` });
    const [match = ""] = (await runTool(createFileTools({ root }), "search_files", { text: "needle" })).split("\n");
    expect(match).toMatch(/^a\.txt:1: …a{50}needleb+…$/);
    expect(match.length).toBeLessThan(320);
  });
});

describe("write_file", () => {
  test("makes a file with its folders, and replaces it", async () => {
    const root = createTempFolder();
    const tools = createFileTools({ root });
    expect(await runTool(tools, "write_file", { path: "a/b/c.md", content: "één\n" })).toBe(
      "Wrote a/b/c.md (6 bytes, 1 line; a new file)",
    );
    expect(await runTool(tools, "write_file", { path: "a/b/c.md", content: "" })).toBe(
      "Wrote a/b/c.md (0 bytes, 0 lines; replaced the old content)",
    );
    expect(readFileSync(join(root, "a/b/c.md"), "utf8")).toBe("");
    expect(readdirSync(join(root, "a/b"))).toEqual(["c.md"]);
  });

  test("keeps the file's mode, and the link that names it", async () => {
    const root = createTempFolder({ "run.sh": "old" });
    chmodSync(join(root, "run.sh"), 0o755);
    symlinkSync("run.sh", join(root, "link.sh"));
    await runTool(createFileTools({ root }), "write_file", { path: "link.sh", content: "new" });
    expect(readFileSync(join(root, "run.sh"), "utf8")).toBe("new");
    expect(statSync(join(root, "run.sh")).mode & 0o777).toBe(0o755);
    expect(readdirSync(root)).toEqual(["link.sh", "run.sh"]);
  });

  test("leaves nothing behind where it fails", async () => {
    const root = createTempFolder({ "folder/a.txt": "" });
    expect(await runTool(createFileTools({ root }), "write_file", { path: "folder", content: "x" })).toBe(
      "Error: folder is a folder.",
    );
    expect(await runTool(createFileTools({ root }), "write_file", { path: "", content: "x" })).toBe(
      "Error: . is a folder.",
    );
    expect(readdirSync(root)).toEqual(["folder"]);
  });
});

describe("edit_file", () => {
  const cases: readonly [what: string, content: string, input: object, result: string | RegExp, after: string][] = [
    [
      "one occurrence",
      "a\nb\nc\n",
      { oldText: "b", newText: "B" },
      "Replaced 1 occurrence in f.txt (line 2)",
      "a\nB\nc\n",
    ],
    [
      "several lines",
      "a\nb\nc\n",
      { oldText: "b\nc", newText: "d" },
      "Replaced 1 occurrence in f.txt (line 2)",
      "a\nd\n",
    ],
    [
      "every occurrence",
      "x\nx x\n",
      { oldText: "x", newText: "yx", replaceAll: true },
      "Replaced 3 occurrences in f.txt (lines 1, 2, 2)",
      "yx\nyx yx\n",
    ],
    ["a removal", "abc", { oldText: "b", newText: "" }, "Replaced 1 occurrence in f.txt (line 1)", "ac"],
    [
      "what a pattern would be",
      "a$&b",
      { oldText: "$&", newText: "$1$&" },
      "Replaced 1 occurrence in f.txt (line 1)",
      "a$1$&b",
    ],
    [
      "plain line ends in a file of others",
      "a\r\nb\r\nc\r\n",
      { oldText: "a\nb", newText: "x\ny" },
      "Replaced 1 occurrence in f.txt (line 1; its CRLF line endings are kept)",
      "x\r\ny\r\nc\r\n",
    ],
    [
      "an ambiguous text",
      "x\ny\nx\n",
      { oldText: "x", newText: "z" },
      /^Error: The old text occurs 2 times in f.txt \(lines 1, 3\)\. Include more/,
      "x\ny\nx\n",
    ],
    [
      "a text that is not there",
      "abc",
      { oldText: "x", newText: "z" },
      /^Error: The old text does not occur in f.txt\. Read the file/,
      "abc",
    ],
    [
      "a text with other spaces",
      "if (a)  {\n\tb",
      { oldText: "if (a) {\n  b", newText: "z" },
      /It occurs with different white space or line endings/,
      "if (a)  {\n\tb",
    ],
    ["nothing to change", "abc", { oldText: "a", newText: "a" }, /nothing to change/, "abc"],
    ["an empty old text", "abc", { oldText: "", newText: "a" }, /^Error: oldText: /, "abc"],
  ];
  test.each(cases)("replaces %s", async (_what, content, input, result, after) => {
    const root = createTempFolder({ "f.txt": content });
    const said = await runTool(createFileTools({ root }), "edit_file", { path: "f.txt", ...input });
    if (typeof result === "string") expect(said).toBe(result);
    else expect(said).toMatch(result);
    expect(readFileSync(join(root, "f.txt"), "utf8")).toBe(after);
  });

  test("leaves alone what it would damage", async () => {
    const root = createTempFolder({ "latin.txt": new Uint8Array([0x63, 0xe9]), "b.bin": "a\0" });
    const tools = createFileTools({ root });
    expect(await runTool(tools, "edit_file", { path: "latin.txt", oldText: "c", newText: "d" })).toContain(
      "is not UTF-8",
    );
    expect(await runTool(tools, "edit_file", { path: "b.bin", oldText: "a", newText: "d" })).toContain(
      "is a binary file",
    );
    expect(await runTool(tools, "edit_file", { path: "none", oldText: "a", newText: "d" })).toBe(
      "Error: none does not exist.",
    );
  });

  test("loses no edit where two are made at once", async () => {
    const root = createTempFolder({ "f.txt": "one two" });
    const tools = createFileTools({ root });
    const results = await Promise.all([
      runTool(tools, "edit_file", { path: "f.txt", oldText: "one", newText: "ONE" }),
      runTool(tools, "edit_file", { path: "f.txt", oldText: "two", newText: "TWO" }),
    ]);
    expect(results.every((result) => result.startsWith("Replaced"))).toBe(true);
    expect(readFileSync(join(root, "f.txt"), "utf8")).toBe("ONE TWO");
  });
});

describe("after a crash", () => {
  test("reading may run again, and so may writing", verifies("TOOL-1#recover"), () => {
    const tools = createFileTools({ root: createTempFolder() });
    expect(tools.map(({ name, readOnly, recover }) => [name, readOnly, typeof recover])).toEqual([
      ["list_files", true, "undefined"],
      ["read_file", true, "undefined"],
      ["search_files", true, "undefined"],
      ["write_file", undefined, "string"],
      ["edit_file", undefined, "object"],
    ]);
  });

  const cases: readonly [what: string, content: string, input: object, status: Reconciled["status"]][] = [
    ["the old text is there", "a b", { oldText: "b", newText: "c" }, "not_started"],
    ["the new text is there", "a c", { oldText: "b", newText: "c" }, "finished"],
    ["both are", "a b c", { oldText: "b", newText: "c" }, "unknown"],
    ["the new text holds the old one", "a bb", { oldText: "b", newText: "bb" }, "unknown"],
    ["neither is", "a", { oldText: "b", newText: "c" }, "unknown"],
    ["it was a removal, and is done", "a", { oldText: "b", newText: "" }, "finished"],
    ["it was a removal, and is not done", "a b", { oldText: "b", newText: "" }, "not_started"],
    ["the file has other line ends", "a\r\nx\r\n", { oldText: "b\nc", newText: "a\nx" }, "finished"],
    ["it is no text", "b\0", { oldText: "b", newText: "c" }, "unknown"],
  ];
  test.each(cases)("an edit is looked up: %s", verifies("TOOL-1#recover"), async (_what, content, input, status) => {
    const root = createTempFolder({ "f.txt": content });
    const edit = createFileTools({ root }).find((tool) => tool.name === "edit_file");
    if (typeof edit?.recover !== "object") throw new Error("edit_file can be looked up");
    expect(
      await edit.recover.reconcile({ ...createToolContext(), input: { path: "f.txt", ...input }, steps: [] }),
    ).toMatchObject({
      status,
    });
    expect(readFileSync(join(root, "f.txt"), "utf8")).toBe(content);
  });
});

describe("compileGlob", () => {
  const cases: readonly [pattern: string, fits: readonly string[], not: readonly string[]][] = [
    ["*.ts", ["a.ts", "src/a.ts"], ["a.tsx", "ts"]],
    ["src/*.ts", ["src/a.ts", "src/.ts"], ["a.ts", "src/b/a.ts"]],
    ["src/**/*.ts", ["src/a.ts", "src/b/c/a.ts"], ["a.ts", "lib/src/a.ts"]],
    ["**", ["a", "a/b"], []],
    ["src/", ["src/a", "src/b/c"], ["lib/a"]],
    ["./a?.md", ["ab.md", "a😀.md"], ["a.md", "abc.md"]],
    ["**/test/**", ["test/a", "a/test/b"], ["a/b"]],
    ["*.{ts,tsx}", ["a.ts", "a.tsx"], ["a.js"]],
    ["{src,{test,docs}}/*", ["src/a", "test/a", "docs/a"], ["lib/a"]],
    ["a[b].ts", ["a[b].ts"], ["ab.ts"]],
    ["{", ["{"], ["a"]],
  ];
  test.each(cases)("%s", (pattern, fits, not) => {
    for (const path of fits) expect([path, compileGlob(pattern)(path)]).toEqual([path, true]);
    for (const path of not) expect([path, compileGlob(pattern)(path)]).toEqual([path, false]);
  });

  test("is bounded, whatever a model writes", verifies("SEC-15"), () => {
    expect(compileGlob(`${"*a".repeat(200)}*b`)("a".repeat(4000))).toBe(false);
    expect(compileGlob(`${"**/a/".repeat(90)}b`)("a/".repeat(1000))).toBe(false);
    expect(compileGlob("{a,b}".repeat(99))("ab".repeat(49).concat("a"))).toBe(true);
    expect(() => compileGlob("{".repeat(501))).toThrow("The pattern has 501 characters; at most 500 are allowed");
  });

  test("agrees with a plain definition of * within a name", () => {
    const letters = fc.stringMatching(/^[ab]{0,8}$/);
    fc.assert(
      fc.property(fc.stringMatching(/^[ab*]{1,6}$/), letters, (pattern, name) => {
        const expected = new RegExp(`^${pattern.replaceAll("*", ".*")}$`).test(name);
        if (pattern !== "**" && name !== "") expect(compileGlob(pattern)(name)).toBe(expected);
      }),
      { numRuns: 500 },
    );
  });
});

test("nothing is left beside a file that was written many times", async () => {
  const root = createTempFolder();
  writeFileSync(join(root, "a.txt"), "");
  const tools = createFileTools({ root });
  await Promise.all(
    Array.from({ length: 20 }, (_, index) => runTool(tools, "write_file", { path: "a.txt", content: String(index) })),
  );
  expect(readdirSync(root)).toEqual(["a.txt"]);
  expect(existsSync(join(root, "a.txt"))).toBe(true);
});

describe("the form of a file", () => {
  test("is kept by a write: its line ends, its byte order mark, and both are said", async () => {
    const root = createTempFolder({
      "crlf.txt": "a\r\nb\r\n",
      "bom.txt": "\ufeffa\n",
      "both.txt": "\ufeffa\r\n",
      "plain.txt": "a\n",
    });
    const tools = createFileTools({ root });
    const write = (path: string, content: string) => runTool(tools, "write_file", { path, content });
    expect(await write("crlf.txt", "x\ny\n")).toBe(
      "Wrote crlf.txt (6 bytes, 2 lines; replaced the old content; its CRLF line endings are kept)",
    );
    expect(readFileSync(join(root, "crlf.txt"), "utf8")).toBe("x\r\ny\r\n");
    expect(await write("bom.txt", "x\n")).toContain("; its byte order mark is kept)");
    expect(readFileSync(join(root, "bom.txt"), "utf8")).toBe("\ufeffx\n");
    expect(await write("both.txt", "x\n")).toContain("; its byte order mark and CRLF line endings are kept)");
    expect(readFileSync(join(root, "both.txt"), "utf8")).toBe("\ufeffx\r\n");
    for (const [path, content] of [
      ["plain.txt", "x\r\n"],
      ["crlf.txt", "x\r\n"],
      ["new.txt", "x\n"],
    ] as const) {
      expect(await write(path, content)).not.toContain("kept");
      expect(readFileSync(join(root, path), "utf8")).toBe(content);
    }
  });

  test("is kept by an edit, also where one line becomes several", async () => {
    const root = createTempFolder({ "crlf.txt": "\ufeffone\r\ntwo\r\n" });
    const tools = createFileTools({ root });
    const edit = (oldText: string, newText: string) =>
      runTool(tools, "edit_file", { path: "crlf.txt", oldText, newText });
    expect(await edit("two", "2\n3")).toBe(
      "Replaced 1 occurrence in crlf.txt (line 2; its CRLF line endings are kept)",
    );
    expect(await edit("\ufeffone", "1")).toBe(
      "Replaced 1 occurrence in crlf.txt (line 1; its byte order mark is kept)",
    );
    expect(readFileSync(join(root, "crlf.txt"), "utf8")).toBe("\ufeff1\r\n2\r\n3\r\n");
  });
});

test("a file without write permission is not written, whoever runs the tool", async () => {
  const root = createTempFolder({ "locked.txt": "old" });
  chmodSync(join(root, "locked.txt"), 0o444);
  const tools = createFileTools({ root });
  const refused = "Error: locked.txt cannot be written: it is read-only (mode 0444). Change its permissions first.";
  expect(await runTool(tools, "write_file", { path: "locked.txt", content: "new" })).toBe(refused);
  expect(await runTool(tools, "edit_file", { path: "locked.txt", oldText: "old", newText: "new" })).toBe(refused);
  expect(readFileSync(join(root, "locked.txt"), "utf8")).toBe("old");
  expect(readdirSync(root)).toEqual(["locked.txt"]);
});

test("an error names the path that was asked for, and not how it was reached", async () => {
  const tools = createFileTools({ root: createTempFolder({ "a.txt": "" }) });
  for (const [name, input] of [
    ["read_file", {}],
    ["search_files", { text: "x" }],
    ["list_files", {}],
    ["edit_file", { oldText: "a", newText: "b" }],
  ] as const)
    for (const path of ["src\\parse.js", "a.txt/b", "x".repeat(300)]) {
      const tool = tools.find((one) => one.name === name);
      const failed = await Promise.resolve(tool?.execute?.({ path, ...input }, createToolContext())).catch(
        (error: unknown) => error,
      );
      expect(formatError(failed), name).toContain(path);
      expect(formatError(failed), name).not.toContain("/proc/");
    }
});

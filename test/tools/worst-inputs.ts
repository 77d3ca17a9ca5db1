/**
 * The worst inputs of every built-in tool: what makes a careless algorithm slow. The inputs have up to a mebibyte.
 */
import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { copyFile } from "node:fs/promises";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import type { ToolOutput } from "../../src/core/data/message.js";
import { encodeText } from "../../src/core/data/text-bytes.js";
import type { AnyTool, ToolContext } from "../../src/ports/tool.js";
import { createFetchTool, createFileTools, createShellTool } from "../../src/tools/index.js";
import { createOutputTools } from "../../src/tools/outputs/output-tools.js";
import { createTempFolder, createToolContext } from "./folder.js";
import { createHostileServer, type HostileServer } from "./web/hostile-server.js";

const million = 1024 * 1024;

/** Texts that a careless algorithm takes long for, each of about a mebibyte. */
const texts = {
  "one letter": "a".repeat(million),
  "two letters": "ab".repeat(million / 2),
  "line feeds": "\n".repeat(million),
  "carriage returns": "\r".repeat(million),
  "line ends of two": "\r\n".repeat(million / 2),
  spaces: " ".repeat(million),
  "letters and spaces": "a ".repeat(million / 2),
  "letters of several bytes": "éİ\u2028".repeat(million / 3),
  "pairs of surrogates": "😀𐐀".repeat(million / 4),
  "halves of characters": "\ud800".repeat(million / 3),
  "control characters": "\u0001\u001b".repeat(million / 2),
};

/** Bytes that are no UTF-8, and no text of several lines. */
const damaged = Buffer.alloc(million, 0xff);

/** The texts as outputs of tools: the first is output 1. */
const outputs = Object.values(texts).map(encodeText);

const paths = {
  "a long path": "a/".repeat(million / 2),
  "many folders": "a/".repeat(2000),
  "up and down": "a/../".repeat(800),
  upwards: "../".repeat(1300),
  "a long name": "a".repeat(4096),
  dots: "./".repeat(2000),
};

const patterns = {
  "a long pattern": "{".repeat(million),
  "opening braces": "{".repeat(500),
  "braces in braces": `${"{".repeat(250)}${"}".repeat(250)}`,
  "braces with commas": "{a,a}".repeat(100),
  "braces full of commas": `{${",".repeat(498)}}`,
  "braces with stars": "{*,*}".repeat(100),
  "stars and letters": "*a".repeat(250),
  stars: "*".repeat(500),
  "folders of any depth": "**/".repeat(166),
  "question marks": "?".repeat(500),
};

const wanted = {
  "a long text": "a".repeat(million),
  "one letter": "a",
  "many letters": "a".repeat(1000),
  "many letters and another": `${"a".repeat(999)}b`,
  "another letter and many": `b${"a".repeat(999)}`,
  "two letters": "ab".repeat(500),
  "letters of several bytes": "éİ".repeat(500),
  "halves of characters": "\ud83d".repeat(500),
};

/** Regular expressions that are slow where they are matched by trying, large, or slow to compile. */
const expressions = {
  "repeats within repeats": "(a+)+$",
  "repeats that may be empty": "(a*)*b",
  "alternatives that overlap": "(a|a|aa|ab|ba)*c",
  "a letter some places ago": "[ab]*a[ab]{200}c",
  "many that may be missing": "(a?){900}a{100}b",
  "any text, often": `${"(.*)".repeat(70)}x`,
  "braces in braces": "((a{10}){10}){9}b",
  "large braces": "((a{1000}){1000}){1000}",
  "opening brackets": "(".repeat(300),
  "groups in groups": `${"(".repeat(150)}${")".repeat(150)}`,
  "all letters": "\\pL".repeat(100),
  "all letters in any case": `(?i)${"\\pL".repeat(98)}`,
  "ranges in any case": `(?i)${"[\\x{42}-\\x{1e942}]".repeat(14)}`,
  boundaries: "\\b".repeat(150),
  "a long expression": "a?".repeat(million / 2),
  "halves of characters": "\ud83d".repeat(300),
};

export type WorstInput = { readonly what: string; readonly input: object };

export type ToolUnderTest = {
  readonly tool: AnyTool;
  readonly inputs: readonly WorstInput[];
  /** Makes what a call needs, the same each time. */
  readonly arrange: () => Promise<ToolContext>;
};

function each(inputs: Readonly<Record<string, string>>, inputOf: (text: string) => object): readonly WorstInput[] {
  return Object.entries(inputs).map(([what, text]) => ({ what, input: inputOf(text) }));
}

/** For each tool but `fetch_url`, by its name. A tool that is not here fails the test. */
const worstInputs: { readonly [tool: string]: readonly WorstInput[] } = {
  list_files: [
    ...each(paths, (path) => ({ path })),
    ...each(patterns, (pattern) => ({ pattern, all: true })),
    { what: "a folder with slow ignore rules", input: { path: "ruled" } },
    { what: "everything", input: { all: true, depth: 1_000_000, limit: 10_000 } },
  ],
  read_file: [
    ...each(paths, (path) => ({ path })),
    ...Object.keys(texts).map((what) => ({ what, input: { path: `${what}.txt`, startLine: 1_000, endLine: 9e15 } })),
    ...Object.keys(texts).map((what) => ({ what, input: { path: `${what}.txt`, endLine: million } })),
    { what: "damaged", input: { path: "damaged.txt" } },
    { what: "large", input: { path: "node_modules/large.txt", startLine: 8_000_000 } },
  ],
  search_files: [
    ...each(paths, (path) => ({ path, text: "a" })),
    ...each(patterns, (pattern) => ({ pattern, text: "a" })),
    ...each(wanted, (text) => ({ text, wholeWord: true })),
    ...each(wanted, (text) => ({ text, ignoreCase: true, limit: 5_000 })),
    ...each(expressions, (text) => ({ text, regex: true, limit: 5_000 })),
    { what: "an expression in short lines", input: { path: "node_modules/large.txt", text: "[b]", regex: true } },
    { what: "large", input: { path: "node_modules/large.txt", text: "a", wholeWord: true, ignoreCase: true } },
  ],
  write_file: [
    ...each(paths, (path) => ({ path, content: "" })),
    ...each(texts, (content) => ({ path: "written.txt", content })),
  ],
  edit_file: [
    ...each(paths, (path) => ({ path, oldText: "a", newText: "b" })),
    ...each(texts, (oldText) => ({ path: "edited/one letter.txt", oldText: oldText.slice(1), newText: "b" })),
    ...each(texts, (oldText) => ({ path: "edited/line ends of two.txt", oldText: oldText.slice(1), newText: oldText })),
    ...each(texts, (newText) => ({ path: "edited/one letter.txt", oldText: "a", newText, replaceAll: true })),
    {
      what: "a million places",
      input: { path: "edited/one letter.txt", oldText: "a", newText: "bb", replaceAll: true },
    },
    { what: "half of it", input: { path: "edited/one letter.txt", oldText: "a".repeat(million / 2), newText: "b" } },
    { what: "other spaces", input: { path: "spaces.txt", oldText: `${"a ".repeat(million / 2)}b`, newText: "b" } },
  ],
  shell: [
    ...each(texts, (command) => ({ command })),
    { what: "a long command", input: { command: `: ${"a".repeat(99_000)}` } },
    { what: "much output", input: { command: "head -c 8000000 /dev/zero | tr '\\0' x" } },
    { what: "much output in lines", input: { command: "yes 2>&1 | head -c 8000000" } },
    { what: "many processes", input: { command: "for n in 1 2 3 4 5 6 7 8 9; do sleep 9 & done" } },
  ],
  read_output: Object.keys(texts).flatMap((_what, index) => [
    { what: `the last line of ${_what}`, input: { output: index + 1, fromLine: 9e15 } },
    { what: `many lines of ${_what}`, input: { output: index + 1, fromLine: 2, toLine: 9e15 } },
    { what: `the middle of ${_what}`, input: { output: index + 1, fromByte: million / 2, toByte: 9e15 } },
  ]),
  search_output: Object.keys(texts).flatMap((what, index) =>
    each(wanted, (text) => ({ output: index + 1, text, ignoreCase: true, limit: 1_000 })).map((worst) => ({
      ...worst,
      what: `${worst.what} in ${what}`,
    })),
  ),
};

/** The functions by which programs get tools. A function that is not here fails the test. */
export const factories: { readonly [factory: string]: (root: string) => readonly AnyTool[] } = {
  createFileTools: (root) => createFileTools({ root }),
  createShellTool: (root) => [createShellTool({ root, sandbox: "off", killGraceMs: 100 })],
  createFetchTool: () => [createFetchTool({ allowAddresses: ["127.0.0.1"] })],
  createOutputTools: () => createOutputTools(50 * 1024),
};

/** The tools of all factories, each with its worst inputs. */
export async function toolsUnderTest(): Promise<readonly ToolUnderTest[]> {
  const root = createHostileFolder();
  const tools = Object.values(factories).flatMap((create) => create(root));
  const inputs: typeof worstInputs = { ...worstInputs, fetch_url: worstUrls(await createHostileServer(texts)) };
  return tools.map((tool) => ({ tool, inputs: inputs[tool.name] ?? [], arrange: () => arrange(root, tool) }));
}

function worstUrls({ origin, paths: served }: HostileServer): readonly WorstInput[] {
  return [
    ...each(served, (path) => ({ url: `${origin}${path}` })),
    ...each(paths, (path) => ({ url: `${origin}/${path}` })),
    ...each(texts, (text) => ({ url: text })),
    { what: "a long host", input: { url: `http://${"a.".repeat(4_000)}` } },
    { what: "a host of other letters", input: { url: `http://${"é".repeat(4_000)}` } },
  ];
}

async function arrange(root: string, { name }: AnyTool): Promise<ToolContext> {
  if (name === "edit_file")
    for (const file of ["one letter.txt", "line ends of two.txt"])
      await copyFile(join(root, file), join(root, "edited", file));
  const context = createToolContext();
  const read = async (_session: string, output: number) => ({
    bytes: outputs[output - 1] ?? damaged,
    mediaType: null,
  });
  const output = { read, cap: (whole: ToolOutput) => whole };
  return { ...context, services: { ...context.services, output } };
}

/** Files of these texts, a file that is as large as files may be, a deep tree, a folder of many long names, and one with slow ignore rules. */
function createHostileFolder(): string {
  const root = createTempFolder({
    "damaged.txt": damaged,
    "node_modules/large.txt": "a\n".repeat(8 * million),
    "edited/x": "",
  });
  // Node removes no tree that is as deep as the one that write_file makes here.
  onTestFinished(() => void execFileSync("rm", ["-rf", root]));
  for (const [what, text] of Object.entries(texts)) writeFileSync(join(root, `${what}.txt`), text);
  mkdirSync(join(root, "a/".repeat(300)), { recursive: true });
  mkdirSync(join(root, "names"));
  for (let name = 0; name < 300; name += 1) writeFileSync(join(root, "names", `${"a".repeat(240)}${name}`), "");
  mkdirSync(join(root, "ruled"));
  writeFileSync(join(root, "ruled/.gitignore"), `${"*a".repeat(490)}b\n`.repeat(260));
  for (let name = 0; name < 3; name += 1) writeFileSync(join(root, "ruled", `${"a".repeat(240)}${name}`), "");
  return root;
}

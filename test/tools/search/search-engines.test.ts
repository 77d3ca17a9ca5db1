import { chmodSync, existsSync, readFileSync, renameSync, symlinkSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { closeFolder, openRootFolder, openSubfolder } from "../../../src/tools/files/folder.js";
import { createFileTools } from "../../../src/tools/index.js";
import { createPace } from "../../../src/tools/lib/pace.js";
import { findCandidates, scanFile } from "../../../src/tools/search/scan-file.js";
import { createSearchFilter } from "../../../src/tools/search/search-filter.js";
import { verifies } from "../../verifies.js";
import { createTempFolder, runTool } from "../folder.js";

/** So many files that ripgrep is asked where it is installed. */
const many = 3_600;
const path = process.env.PATH;
const hasRipgrep = (path ?? "").split(delimiter).some((folder) => existsSync(join(folder, "rg")));

/** Lines that two engines may read differently: other alphabets, broken bytes, odd line ends, and what a folding brings together. */
const odd: Readonly<Record<string, string | Uint8Array>> = {
  "odd/crlf.txt": "export one\r\nexport two\r\n",
  "odd/kelvin.txt": "2 \u212a, a\u017ftore, STRA\u00dfE, \u0130stanbul\n",
  "odd/latin.txt": new Uint8Array([...Buffer.from("caf"), 0xe9, ...Buffer.from(" store\n")]),
  "odd/utf16.txt": Buffer.from("\ufeffstore\n", "utf16le"),
  "odd/bom.txt": "\ufeffstore of a bom\n",
  "odd/binary.dat": new Uint8Array([0, ...Buffer.from("store\n")]),
  "odd/late-nul.txt": `${"x".repeat(9000)}\0 store\n`,
  "odd/image.png": Buffer.from("\x89PNG\r\n\x1a\nstore", "latin1"),
  "odd/long.txt": `${"ab ".repeat(100_000)}store ${"cd ".repeat(1_000)}\n`,
  "odd/mid.txt": `${"line of text\n".repeat(20_000)}the store is here\n`,
  "odd/-e.txt": "store in a name like an option\n",
  "odd/.hidden/a.txt": "a hidden store\n",
  "odd/ignored.log": "a store that is ignored\n",
  "odd/.gitignore": "*.log\n",
  "odd/.ignore": "*.txt\n",
  "odd/.rgignore": "*.txt\n",
  "odd/closed/secret.txt": "the store's key\n",
  "odd/words.txt": "restored store_ store; tostore\n\tstore\n🏬 StoreX1 café\n",
  // Two files that have the text only together, and one in between that is read on its own.
  "odd/half-1.txt": "the end is sto",
  "odd/half-2.txt": `${"re\n".repeat(50_000)}store of half\n`,
  "odd/half-3.txt": "re is the beginning, as in a store\n",
};

const searches: readonly object[] = [
  { text: "store" },
  { text: "STORE", ignoreCase: true },
  { text: "store", wholeWord: true },
  { text: "k", ignoreCase: true, path: "odd" },
  { text: "k", ignoreCase: true },
  { text: "straße", ignoreCase: true },
  { text: "\ufffd" },
  { text: "file 35" },
  { text: "nowhere at all" },
  { text: "-e" },
  { text: "storeX1 c" },
  { text: "StoreX1 c" },
  { text: "🏬 S" },
  { text: "café" },
  { text: "store", pattern: "*.txt", limit: 3 },
  { text: "number", limit: 2 },
  { text: "caf. store", regex: true },
  { text: "^export (one|two)$", regex: true },
  { text: "(kelvin|store)s?\\b", regex: true, ignoreCase: true },
  { text: "a[sſ]tore|secret", regex: true },
  { text: "(?i)STORE", regex: true },
  { text: "file \\d{2}5$", regex: true },
  { text: "\\x{212a}", regex: true },
  { text: "[^a-z]store.?", regex: true, wholeWord: true },
  { text: "\\Qstore;\\E", regex: true },
  { text: "sto*re+x?", regex: true },
  { text: "st{1}ore{0,2}", regex: true },
];

function createTree(): string {
  const files: Record<string, string | Uint8Array> = { ...odd };
  for (let file = 0; file < many; file += 1) files[`many/${file % 36}/f${file}.txt`] = `number\nfile ${file}\n`;
  const root = createTempFolder(files);
  const outside = createTempFolder({ "other.txt": "a store outside\n" });
  symlinkSync(outside, join(root, "odd/out"));
  symlinkSync(join(outside, "other.txt"), join(root, "odd/out.txt"));
  return root;
}

const options = (root: string) => ({ root, mayReach: (reached: string) => !reached.includes("closed") });

beforeEach(() => {
  process.env.PATH = path;
});
afterEach(() => {
  process.env.PATH = path;
  delete process.env.RIPGREP_CONFIG_PATH;
});

describe("a search of thousands of files", () => {
  test.runIf(hasRipgrep)(
    "gives the same with ripgrep and without it, whatever is sought",
    { timeout: 60_000 },
    async () => {
      const root = createTree();
      const tools = createFileTools(options(root));
      // A configuration of ripgrep that would find nothing, and name files outside.
      process.env.RIPGREP_CONFIG_PATH = join(
        createTempFolder({ rc: "--invert-match\n--follow\n--max-count=1\n" }),
        "rc",
      );
      for (const input of searches) {
        process.env.PATH = path;
        const withRipgrep = await runTool(tools, "search_files", input);
        process.env.PATH = "";
        const without = await runTool(tools, "search_files", input);
        expect(withRipgrep, JSON.stringify(input)).toBe(without);
        expect(without).not.toContain("outside");
        expect(without).not.toContain("secret.txt");
      }
    },
  );

  test("asks ripgrep for texts, and for nothing that it would read in its own way", async () => {
    const root = createTree();
    const bin = createTempFolder({
      rg: '#!/bin/sh\nfor argument; do printf "%s\\n" "$argument" >> "$0.log"; done\nexit 2\n',
    });
    chmodSync(join(bin, "rg"), 0o755);
    process.env.PATH = `${bin}${delimiter}${path}`;
    const tools = createFileTools(options(root));
    const asked = () => (existsSync(join(bin, "rg.log")) ? readFileSync(join(bin, "rg.log"), "utf8").split("\n") : []);
    expect(await runTool(tools, "search_files", { text: "file 3599" })).toBe(
      "many/35/f3599.txt:2: file 3599\n(1 line in 1 file; 3619 files searched; 1 path that Git ignores left out)",
    );
    expect(asked()).toEqual(expect.arrayContaining(["--no-config", "--fixed-strings", "file 3599", "--"]));
    writeFileSync(join(bin, "rg.log"), "");
    await runTool(tools, "search_files", { text: "f(?:ile) (\\d+)9$", regex: true });
    expect(asked()).toContain("ile");
    expect(asked().join(" ")).not.toContain("\\d");
    writeFileSync(join(bin, "rg.log"), "");
    await runTool(tools, "search_files", { text: "\\w+ 3599", regex: true, ignoreCase: true });
    expect(asked()).toContain(" 3599");
    writeFileSync(join(bin, "rg.log"), "");
    await runTool(tools, "search_files", { text: "[a-z]+", regex: true, pattern: "f35*" });
    expect(asked().join("")).toBe("");
  });

  test("gives a folder to ripgrep as a whole, and does not search itself before", async () => {
    const root = createTree();
    const bin = createTempFolder({ rg: '#!/bin/sh\nprintf "%s\\n" "$@" >> "$0.log"\nexit 1\n' });
    chmodSync(join(bin, "rg"), 0o755);
    process.env.PATH = `${bin}${delimiter}${path}`;
    const tools = createFileTools(options(root));
    // The program finds nothing. So nothing is found if every file is left to it.
    expect(await runTool(tools, "search_files", { text: "number" })).toContain("No lines contain");
    const folders = readFileSync(join(bin, "rg.log"), "utf8")
      .split("\n")
      .filter((line) => line.startsWith("./many/"));
    expect(folders.toSorted()).toEqual(Array.from({ length: 36 }, (_, at) => `./many/${at}`).toSorted());
  });

  test(
    "shows nothing from elsewhere if a folder is replaced by a link during the search",
    verifies("SEC-8"),
    async () => {
      const world = createTempFolder({ "root/src/a.txt": "inside", "outside/a.txt": "the secret" });
      const top = await openRootFolder(join(world, "root"), "descriptor");
      const folder = await openSubfolder(top, "src");
      onTestFinished(() => [top, folder].forEach(closeFolder));
      const filter = createSearchFilter({ text: "secret" });
      if (filter === null) throw new Error("a plain text has a filter");
      expect(findCandidates(folder, ["a.txt"], filter)).toEqual([]);
      renameSync(join(world, "root/src"), join(world, "root/moved"));
      symlinkSync(join(world, "outside"), join(world, "root/src"));
      expect(findCandidates(folder, ["a.txt"], filter)).toEqual(["a.txt"]);
      const pace = createPace(new AbortController().signal);
      expect(await scanFile({ folder, name: "a.txt" }, filter, pace)).toBe("no match");
    },
  );

  test("takes no program of the folder for ripgrep", async () => {
    const root = createTree();
    writeFileSync(join(root, "rg"), '#!/bin/sh\ntouch "$0.ran"\nexit 1\n', { mode: 0o755 });
    process.env.PATH = ["", ".", root].join(delimiter);
    expect(await runTool(createFileTools(options(root)), "search_files", { text: "file 3599" })).toContain("1 line in");
    expect(existsSync(join(root, "rg.ran"))).toBe(false);
  });

  test("ends when it is aborted while ripgrep works", async () => {
    const root = createTree();
    const bin = createTempFolder({ rg: '#!/bin/sh\necho $$ > "$0.pid"\nexec /bin/sleep 60\n' });
    chmodSync(join(bin, "rg"), 0o755);
    process.env.PATH = bin;
    const stopping = new AbortController();
    const search = runTool(createFileTools(options(root)), "search_files", { text: "file" }, stopping.signal);
    while (!existsSync(join(bin, "rg.pid"))) await new Promise((resolve) => setImmediate(resolve));
    stopping.abort(new Error("stopped"));
    expect(await search).toBe("Error: stopped");
  });
});

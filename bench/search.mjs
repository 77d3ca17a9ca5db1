/**
 * `search_files` on a project of 100,000 files beside `rg` and `grep -r`, in one run: with ripgrep on the PATH and without it. Each is run
 * several times in turn, and the fastest run counts, because other work on the machine only adds.
 */
import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createFileTools } from "../dist/tools/index.js";
import { inFolder } from "./folder.mjs";
import { machine, table } from "./report.mjs";

const words =
  "const function return import export await async value index session store commit event lease driver model answer".split(
    " ",
  );

/** Files of 1 to 8 kB in 1,000 folders. One in 1,000 has the text that is sought. */
function fill(root, files) {
  let seed = 1;
  const random = (below) => {
    seed = (seed * 1103515245 + 12345) & 0x7fffffff;
    return Math.floor((seed / 0x7fffffff) * below);
  };
  for (let file = 0; file < files; file += 1) {
    const folder = join(root, `package${file % 40}`, `module${Math.floor(file / 40) % 25}`);
    if (file < 1_000) mkdirSync(folder, { recursive: true });
    const lines = Array.from({ length: 20 + random(120) }, () =>
      Array.from({ length: 4 + random(8) }, () => words[random(words.length)]).join(" "),
    );
    if (file % 1_000 === 7) lines.push("const needleInTheHaystack = 1;");
    writeFileSync(join(folder, `file${file}.ts`), `${lines.join("\n")}\n`);
  }
}

const searches = [
  { what: "a text", input: { text: "needleInTheHaystack" }, rg: ["-F"], grep: ["-F"], sought: "needleInTheHaystack" },
  {
    what: "a text, any case",
    input: { text: "NEEDLEinthehaystack", ignoreCase: true },
    rg: ["-F", "-i"],
    grep: ["-F", "-i"],
    sought: "NEEDLEinthehaystack",
  },
  {
    what: "an expression",
    input: { text: "needle\\w+Hay[a-z]+ = [0-9]", regex: true },
    rg: [],
    grep: ["-E"],
    sought: "needle\\w+Hay[a-z]+ = [0-9]",
  },
];

export async function run({ quick }) {
  await inFolder(async (root) => {
    const files = quick ? 20_000 : 100_000;
    fill(root, files);
    const search = createFileTools({ root }).find(({ name }) => name === "search_files");
    const path = process.env.PATH;
    const tool = async (input, searched) => {
      process.env.PATH = searched;
      const start = performance.now();
      const output = await search.execute(input, { signal: new AbortController().signal });
      const ms = performance.now() - start;
      process.env.PATH = path;
      return { ms, lines: output.split("\n").length - 1 };
    };
    const program = (name, args) => {
      const start = performance.now();
      const { error, stdout } = spawnSync(name, args, { cwd: root });
      if (error !== undefined) throw new Error(`${name} is needed for this bench: ${error.message}`);
      return { ms: performance.now() - start, lines: stdout.toString().split("\n").length - 1 };
    };
    const rows = [];
    for (const { what, input, rg, grep, sought } of searches) {
      const best = {};
      for (let round = 0; round < (quick ? 3 : 7); round += 1) {
        const results = {
          rg: program("rg", ["--no-config", "-n", ...rg, "-e", sought, "."]),
          withRg: await tool(input, path),
          grep: program("grep", ["-rn", ...grep, "-e", sought, "."]),
          without: await tool(input, ""),
        };
        for (const [name, { ms, lines }] of Object.entries(results)) {
          if (lines !== files / 1_000) throw new Error(`${name} found ${lines} lines of ${files / 1_000}`);
          best[name] = Math.min(best[name] ?? Number.POSITIVE_INFINITY, ms);
        }
      }
      const ms = (name) => `${best[name].toFixed(0)} ms`;
      rows.push([
        what,
        ms("rg"),
        ms("withRg"),
        `${(best.withRg / best.rg).toFixed(2)} ×`,
        ms("grep"),
        ms("without"),
        `${(best.without / best.grep).toFixed(2)} ×`,
      ]);
    }
    console.log(`${machine()}; ${files.toLocaleString("en-US")} files, ${files / 1_000} lines found\n`);
    console.log(table(["search_files for", "rg", "with rg", "ratio", "grep -r", "without rg", "ratio"], rows));
  });
}

/**
 * `search_files` on a project of 100,000 files next to `rg` and `grep -r`, in one run: with ripgrep on the PATH and without it. Each is run
 * several times in turn. The times are those of the fastest runs, because other work on the machine only adds. There are two ratios: of
 * the fastest runs, and the median of the ratios of each round.
 *
 * On a busy machine, processes get unequal shares of the processors, and the times say little. So the table has the processor time too,
 * of the process and its children.
 */
import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createFileTools } from "../dist/tools/index.js";
import { inFolder } from "./folder.mjs";
import { machine, median, table } from "./report.mjs";

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

/** The processor time of this process and of its children that have ended; milliseconds. 0 where the system does not report it. */
function readCpuMs() {
  if (process.platform !== "linux") return 0;
  const fields = readFileSync("/proc/self/stat", "utf8").split(") ")[1].split(" ");
  // utime, stime, cutime and cstime, in ticks of 10 ms.
  return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks) * 10, 0);
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

/** The fastest runs, their ratio, and the median of the ratios of the rounds. */
function compare(program, tool, key) {
  const [least, leastOfTool] = [program, tool].map((results) => Math.min(...results.map((result) => result[key])));
  const ratios = tool.map((result, round) => result[key] / program[round][key]);
  return [
    `${least.toFixed(0)} ms`,
    `${leastOfTool.toFixed(0)} ms`,
    `${(leastOfTool / least).toFixed(2)} ×`,
    `${median(ratios).toFixed(2)} ×`,
  ];
}

export async function run({ quick }) {
  await inFolder(async (root) => {
    const files = quick ? 20_000 : 100_000;
    fill(root, files);
    const search = createFileTools({ root }).find(({ name }) => name === "search_files");
    const path = process.env.PATH;
    const tool = async (input, searched) => {
      process.env.PATH = searched;
      const [start, cpu] = [performance.now(), readCpuMs()];
      const output = await search.execute(input, { signal: new AbortController().signal });
      const ms = performance.now() - start;
      process.env.PATH = path;
      return { ms, cpu: readCpuMs() - cpu, lines: output.split("\n").length - 1 };
    };
    const program = (name, args) => {
      const [start, cpu] = [performance.now(), readCpuMs()];
      const { error, stdout } = spawnSync(name, args, { cwd: root });
      if (error !== undefined) throw new Error(`${name} is needed for this bench: ${error.message}`);
      return { ms: performance.now() - start, cpu: readCpuMs() - cpu, lines: stdout.toString().split("\n").length - 1 };
    };
    const [rows, cpuRows] = [[], []];
    for (const { what, input, rg, grep, sought } of searches) {
      const runs = { rg: [], withRg: [], grep: [], without: [] };
      for (let round = 0; round < (quick ? 3 : 7); round += 1) {
        const results = {
          rg: program("rg", ["--no-config", "-n", ...rg, "-e", sought, "."]),
          withRg: await tool(input, path),
          grep: program("grep", ["-rn", ...grep, "-e", sought, "."]),
          without: await tool(input, ""),
        };
        for (const [name, result] of Object.entries(results)) {
          if (result.lines !== files / 1_000)
            throw new Error(`${name} found ${result.lines} lines of ${files / 1_000}`);
          runs[name].push(result);
        }
      }
      rows.push([what, ...compare(runs.rg, runs.withRg, "ms"), ...compare(runs.grep, runs.without, "ms")]);
      cpuRows.push([what, ...compare(runs.rg, runs.withRg, "cpu"), ...compare(runs.grep, runs.without, "cpu")]);
    }
    console.log(`${machine()}; ${files.toLocaleString("en-US")} files, ${files / 1_000} lines found\n`);
    const heads = ["rg", "with rg", "ratio", "of pairs", "grep -r", "without rg", "ratio", "of pairs"];
    console.log(table(["search_files for", ...heads], rows));
    console.log(`\n${table(["processor time for", ...heads], cpuRows)}`);
  });
}

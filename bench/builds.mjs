/**
 * Another build of Pawl beside this one: the CPU time of the import, of the first 200 steps of a process, and of later steps, in processes
 * that take turns. A step is five text deltas and one tool call (stepping.mjs).
 *
 *     npm run bench -- builds --beside FOLDER              FOLDER is the `dist` of the other build
 *     npm run bench -- builds --beside FOLDER --node PATH  on another Node
 */
import { execFileSync } from "node:child_process";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { median, processors, table } from "./report.mjs";

const works = [
  { name: "the import of `pawl`, ms", work: "import", perStep: false },
  { name: "the first 200 steps, in memory, µs a step", work: "first", perStep: true },
  { name: "the same without optimized code", work: "first", perStep: true, flags: ["--no-opt", "--always-sparkplug"] },
  { name: "the first 200 steps, SQLite, µs a step", work: "first-sqlite", perStep: true },
  { name: "later steps, streamed, in memory, µs", work: "later", perStep: true },
  { name: "later steps, `run()`, in memory, µs", work: "later-run", perStep: true },
  { name: "later steps, streamed, SQLite, µs", work: "later-sqlite", perStep: true },
];
const worker = fileURLToPath(new URL("builds-process.mjs", import.meta.url));

export async function run({ quick, rest }) {
  const { values } = parseArgs({
    args: rest,
    options: { beside: { type: "string" }, node: { type: "string", default: process.execPath } },
  });
  if (values.beside === undefined) throw new Error("Give the dist of another build: --beside FOLDER");
  const builds = [resolve(values.beside), resolve("dist")];
  const rows = works.map(({ name, work, perStep, flags = [] }) => {
    const measured = builds.map(() => []);
    for (let round = 0; round < (quick ? 3 : 9); round += 1)
      for (const [index, build] of builds.entries()) {
        const output = execFileSync(values.node, ["--no-warnings", ...flags, worker, build, work], {
          encoding: "utf8",
        });
        measured[index].push(Number(output));
      }
    const [before, now] = measured.map(median);
    const format = (microseconds) => (perStep ? microseconds : microseconds / 1_000).toFixed(0);
    return [name, format(before), format(now), (now / before).toFixed(2)];
  });
  const version = execFileSync(values.node, ["--version"], { encoding: "utf8" }).trim().slice(1);
  console.log(`Node ${version}, ${processors()}; CPU time, medians of ${quick ? 3 : 9} processes each, in turn\n`);
  console.log(table(["", "beside", "this build", "×"], rows));
}

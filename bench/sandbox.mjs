/**
 * Starts the command `true` with the tool `shell`, with and without a sandbox in turn, and prints the medians. The first command of a
 * sandbox also starts what all of them share. Before and after each command, the sandbox looks for repositories in all folders.
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { createSandbox, createShellTool } from "../dist/tools/index.js";
import { inFolder } from "./folder.mjs";
import { machine, median, table } from "./report.mjs";

const manyFolders = 2_000;

const fastest = (times) => Math.min(...times);

export async function run({ quick }) {
  await inFolder((root) => inFolder((wide) => measure({ root, wide, rounds: quick ? 7 : 41 })));
}

async function measure({ root, wide, rounds }) {
  for (let number = 0; number < manyFolders; number += 1)
    mkdirSync(join(wide, `a${number % 40}`, `b${number}`), { recursive: true });
  const time = async (tool) => {
    const context = { signal: new AbortController().signal };
    const startedAt = performance.now();
    for await (const _shown of tool.execute({ command: "true" }, context));
    return performance.now() - startedAt;
  };
  const [shared, large] = [root, wide].map((folder) => createSandbox({ root: folder, mode: "required" }));
  const inside = createShellTool({ root, sandbox: shared });
  const insideLarge = createShellTool({ root: wide, sandbox: large });
  const arms = {
    "no sandbox": { tool: createShellTool({ root, sandbox: "off" }), times: [] },
    "in the sandbox": { tool: inside, times: [] },
    [`in the sandbox of a folder with ${manyFolders.toLocaleString("en-US")} folders`]: {
      tool: insideLarge,
      times: [],
    },
    "the first command of a sandbox": { tool: null, times: [] },
  };
  for (const tool of [inside, insideLarge]) await time(tool);
  for (let round = 0; round < rounds; round += 1)
    for (const { tool, times } of Object.values(arms)) {
      if (tool !== null) {
        times.push(await time(tool));
        continue;
      }
      const fresh = createSandbox({ root, mode: "required" });
      times.push(await time(createShellTool({ root, sandbox: fresh })));
      await fresh.close();
    }
  const description = shared.describe()[0];
  for (const sandbox of [shared, large]) await sandbox.close();
  const base = arms["no sandbox"].times;
  // On a busy machine, the fastest round says more than the median.
  const rows = Object.entries(arms).map(([what, { times }]) => [
    what,
    ...[median, fastest].flatMap((pick) => [
      `${pick(times).toFixed(0)} ms`,
      `${(pick(times) / pick(base)).toFixed(2)} ×`,
    ]),
  ]);
  console.log(`${machine()}; ${description}\n`);
  console.log(table(["true", "median", "ratio", "fastest", "ratio"], rows));
}

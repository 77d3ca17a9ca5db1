/**
 * Starts the command `true` with the tool `shell`, with and without a sandbox in turn, and prints the medians. The first command of a
 * sandbox also starts what all of them share.
 */
import { createSandbox, createShellTool } from "../dist/tools/index.js";
import { inFolder } from "./folder.mjs";
import { machine, median, table } from "./report.mjs";

export async function run({ quick }) {
  await inFolder(async (root) => {
    const time = async (tool) => {
      const context = { signal: new AbortController().signal };
      const startedAt = performance.now();
      for await (const _shown of tool.execute({ command: "true" }, context));
      return performance.now() - startedAt;
    };
    const shared = createSandbox({ root, mode: "required" });
    const arms = {
      "no sandbox": { tool: createShellTool({ root, sandbox: "off" }), times: [] },
      "in the sandbox": { tool: createShellTool({ root, sandbox: shared }), times: [] },
      "the first command of a sandbox": { tool: null, times: [] },
    };
    await time(arms["in the sandbox"].tool);
    for (let round = 0; round < (quick ? 7 : 41); round += 1)
      for (const { tool, times } of Object.values(arms)) {
        if (tool !== null) {
          times.push(await time(tool));
          continue;
        }
        const fresh = createSandbox({ root, mode: "required" });
        times.push(await time(createShellTool({ root, sandbox: fresh })));
        await fresh.close();
      }
    await shared.close();
    const rows = Object.entries(arms).map(([what, { times }]) => [what, `${median(times).toFixed(0)} ms`]);
    console.log(`${machine()}; ${shared.describe()[0]}\n`);
    console.log(table(["true", "median"], rows));
  });
}

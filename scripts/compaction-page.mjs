/** Writes the table of docs/compaction.md from the results of the tests in test/compaction. */
import { spawnSync } from "node:child_process";
import { join } from "node:path";

const vitest = join("node_modules", "vitest", "vitest.mjs");
const { status } = spawnSync(process.execPath, [vitest, "run", "test/compaction"], {
  stdio: "inherit",
  env: { ...process.env, PAWL_WRITE_DOCS: "1" },
});
process.exitCode = status ?? 1;

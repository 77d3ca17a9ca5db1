/** Writes the tables of docs/model-failures.md from the results of the tests in test/failures. */
import { spawnSync } from "node:child_process";
import { join } from "node:path";

const vitest = join("node_modules", "vitest", "vitest.mjs");
const { status } = spawnSync(process.execPath, [vitest, "run", "--no-file-parallelism", "test/failures"], {
  stdio: "inherit",
  env: { ...process.env, PAWL_WRITE_DOCS: "1" },
});
process.exitCode = status ?? 1;

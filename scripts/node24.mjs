/**
 * Runs the tests of the stores on Node 24, which uses its built-in SQLite. Node 20 uses `libsql`.
 *
 *     node scripts/node24.mjs                 runs test/stores
 *     node scripts/node24.mjs test/runtime    runs these tests instead
 *
 * scripts/install-node.mjs installs Node 24. If this Node is 24 or later, the tests run on it. On systems other
 * than Linux on x64 the script prints a message and ends.
 */
import { spawnSync } from "node:child_process";
import { node24 } from "./install-node.mjs";

const paths = process.argv.length > 2 ? process.argv.slice(2) : ["test/stores"];

const node = node24();
if (node === null) {
  console.log("Node 24 was not installed: this is not Linux on x64. Run the tests with your own Node 24.");
} else {
  console.log(`The tests in ${paths.join(", ")} with ${versionOf(node)}`);
  process.exitCode = run(node, ["node_modules/vitest/vitest.mjs", "run", ...paths]);
}

function versionOf(file) {
  return `Node ${spawnSync(file, ["--version"], { encoding: "utf8" }).stdout.trim()}`;
}

function run(command, commandArguments) {
  const { status, error } = spawnSync(command, commandArguments, { stdio: "inherit" });
  if (error !== undefined) throw error;
  return status ?? 1;
}

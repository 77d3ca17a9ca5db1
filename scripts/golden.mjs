/**
 * Records the golden logs of the current durable format again: `npm run golden`. See docs/decisions.
 *
 * Before 0.1 they replace the old logs. Afterwards, a change of the format needs a new `formatVersion`, and its logs
 * are recorded beside those of earlier versions.
 */
import { spawnSync } from "node:child_process";

const { status } = spawnSync("npx", ["vitest", "run", "test/golden"], {
  env: { ...process.env, PAWL_GOLDEN: "record" },
  stdio: "inherit",
});
process.exitCode = status ?? 1;

/**
 * Records the golden logs of the present durable format anew: `npm run golden`. See docs/decisions.
 *
 * Before 0.1 they take the place of the old ones. Afterwards a change of the format is a new version of it (`formatVersion`),
 * whose logs are recorded beside those of the versions before.
 */
import { spawnSync } from "node:child_process";

const { status } = spawnSync("npx", ["vitest", "run", "test/golden"], {
  env: { ...process.env, PAWL_GOLDEN: "record" },
  stdio: "inherit",
});
process.exitCode = status ?? 1;

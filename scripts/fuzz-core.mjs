/**
 * Sends random events to the machine, ten times as many as a run of the tests: `npm run fuzz`.
 *
 *     PAWL_SEED=7 npm run fuzz           starts with seed 7; default: a new seed each time
 *     PAWL_EVENTS=1000 npm run fuzz      sends this many events; default 300,000
 *
 * A failure names the seed of its session and the command that repeats it.
 */
import { spawnSync } from "node:child_process";

const seed = process.env.PAWL_SEED ?? String(Math.floor(Math.random() * 1_000_000_000));
const events = process.env.PAWL_EVENTS ?? "300000";
const { status } = spawnSync("npx", ["vitest", "run", "test/core/fuzz.test.ts", "--silent=false"], {
  env: { ...process.env, PAWL_SEED: seed, PAWL_EVENTS: events },
  stdio: "inherit",
});
process.exitCode = status ?? 1;

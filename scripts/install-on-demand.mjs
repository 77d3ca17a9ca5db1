/**
 * Packages that only some scripts need have a package.json and a lockfile of their own, and are installed when the first of those scripts
 * runs: `npm ci` in a clone does not bring them.
 */
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/**
 * Installs into `<folder>/node_modules` what the lockfile there names, without install scripts. Does nothing when it is there already.
 * `what` says on standard error what is installed.
 */
export function installOnDemand(folder, what) {
  const mark = join(folder, "node_modules", ".installed");
  const lock = readFileSync(join(folder, "package-lock.json"), "utf8");
  if (existsSync(mark) && readFileSync(mark, "utf8") === lock) return;
  console.error(`Installing ${what} …`);
  const { status, stderr } = spawnSync(
    "npm",
    ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"],
    { cwd: folder, encoding: "utf8", stdio: ["ignore", "ignore", "pipe"] },
  );
  if (status !== 0) throw new Error(`npm could not install what ${folder}/package-lock.json names:\n${stderr}`);
  writeFileSync(mark, lock);
}

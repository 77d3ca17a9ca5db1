/**
 * Builds `dist`: compiles `src`, removes what no longer has a source, and makes the command line executable.
 *
 * npm sets the executable bit and links the command when it installs a package, but not in a clone.
 */
import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, readdirSync, rmSync, symlinkSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

const compiler = join(dirname(createRequire(import.meta.url).resolve("typescript/package.json")), "bin/tsc");
const compiled = spawnSync(process.execPath, [compiler, "-p", "tsconfig.build.json"], { stdio: "inherit" });
if (compiled.status !== 0) process.exit(compiled.status ?? 1);

for (const file of readdirSync("dist", { recursive: true })) {
  const source = /^(.*?)(\.d\.ts|\.js)$/.exec(file)?.[1];
  if (source !== undefined && !existsSync(join("src", `${source}.ts`))) rmSync(join("dist", file));
}

const commandLine = "dist/cli/main.js";
if (existsSync(commandLine)) chmodSync(commandLine, 0o755);

// Without it, npx in a clone installs the clone into its cache and builds it once more.
if (process.platform !== "win32" && existsSync("node_modules/.bin")) {
  rmSync("node_modules/.bin/pawl", { force: true });
  symlinkSync("../../dist/cli/main.js", "node_modules/.bin/pawl");
}

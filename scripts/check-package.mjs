/**
 * Packs the package as it would be published, to temp/pawl.tgz, and uses it as an installed one: every entry point loads,
 * and the command line starts.
 */
import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const { name, exports, bin } = JSON.parse(readFileSync("package.json", "utf8"));
const consumer = "temp/consumer";
const installed = join(consumer, "node_modules", name);

rmSync(consumer, { recursive: true, force: true });
mkdirSync(installed, { recursive: true });

// Without scripts: packing would build again, under the feet of whatever uses the present build.
const packed = run("npm", ["pack", "--ignore-scripts", "--json", "--pack-destination", "temp"]);
renameSync(join("temp", JSON.parse(packed)[0].filename), "temp/pawl.tgz");
run("tar", ["-xzf", "temp/pawl.tgz", "-C", installed, "--strip-components", "1"]);

// A package of its own, or the name would resolve to this project instead of to what is installed.
writeFileSync(join(consumer, "package.json"), JSON.stringify({ private: true, type: "module" }));
const entries = Object.keys(exports).filter((path) => !path.endsWith(".json"));
for (const entry of entries) {
  const specifier = join(name, entry);
  run(process.execPath, ["--input-type=module", "--eval", `await import(${JSON.stringify(specifier)})`], {
    cwd: consumer,
  });
}
for (const path of Object.values(bin)) run(process.execPath, [join(installed, path), "--help"]);
console.log(`Packed; ${entries.length} entry points load and the command line starts.`);

/** Runs a command to its end and gives its standard output; one that fails ends this process with what it said. */
function run(command, args, options = {}) {
  const { status, stdout, stderr, error } = spawnSync(command, args, { encoding: "utf8", ...options });
  if (status === 0) return stdout;
  console.error(`${command} ${args.join(" ")}\n${stdout ?? ""}${stderr ?? error?.message ?? ""}`);
  process.exit(1);
}

/**
 * The binaries of workerd, Bun and Deno, for Linux on x64. They come from npm packages, which are installed into temp/runtimes when they
 * are first needed; no install script runs.
 */
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";

export const folder = resolve("temp/runtimes");
export const timeoutMs = 120_000;

/** The npm package that holds the binary. */
const packages = {
  workerd: { package: "@cloudflare/workerd-linux-64", version: "1.20261117.1", file: "bin/workerd" },
  bun: { package: "@oven/bun-linux-x64", version: "1.4.4", file: "bin/bun" },
  deno: { package: "@deno/linux-x64-glibc", version: "2.9.6", file: "deno" },
};

/** How each runs a program that may do what a program in Node may. */
export const start = { bun: [], deno: ["run", "--allow-all", "--no-check", "--node-modules-dir=manual"] };

/**
 * Examples that are left out. Deno does not look into NODE_PATH, where this checkout keeps MCP servers, and takes no `--import`, by which
 * `pawl/testing/kill-at-commit` gets into a program. Bun runs tests of `node:test` by `bun test` only.
 */
export const leftOut = {
  bun: ["recipes/testing-an-agent", "starter"],
  deno: [
    "mcp",
    "mcp-questions",
    "while-loop",
    "recipes/mcp-servers",
    "recipes/chat",
    "recipes/long-jobs",
    "recipes/retention",
    "recipes/every-morning",
  ],
};

/** The binary of a runtime. */
export function install(name) {
  const { package: packageName, version, file } = packages[name];
  const binary = join(folder, "node_modules", packageName, file);
  const manifest = join(folder, "node_modules", packageName, "package.json");
  if (existsSync(binary) && JSON.parse(readFileSync(manifest, "utf8")).version === version) return binary;
  console.error(`Installing ${packageName} ${version} into temp/runtimes …`);
  mkdirSync(folder, { recursive: true });
  if (!existsSync(join(folder, "package.json"))) writeFileSync(join(folder, "package.json"), '{ "private": true }\n');
  const wanted = `${packageName}@${version}`;
  const { status, output } = run("npm", [
    "install",
    "--ignore-scripts",
    "--no-audit",
    "--no-fund",
    "--prefix",
    folder,
    wanted,
  ]);
  if (status !== 0 || !existsSync(binary))
    throw new Error(`${wanted} could not be installed into ${folder}:\n${output}`);
  return binary;
}

export function run(command, commandArguments, options = {}) {
  const { status, error, stdout, stderr } = spawnSync(command, commandArguments, {
    encoding: "utf8",
    timeout: timeoutMs,
    maxBuffer: 64 * 1024 * 1024,
    ...options,
  });
  return { status: error === undefined ? status : 1, output: `${stdout}${stderr}${error?.message ?? ""}` };
}

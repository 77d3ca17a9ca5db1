/**
 * Checks a user's `npm install`: at most 8 packages of a bounded size, none of which runs a script when it is installed. Prints what
 * takes how much.
 *
 *     node scripts/check-install.mjs [FOLDER]     checks the package in this folder (default: here), which must be installed and built
 *
 * A private package in the folder is not counted: it is the project into which the package was installed.
 */
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";

const mostPackages = 8;
const mostBytes = 10 * 1024 * 1024;
const installScripts = ["preinstall", "install", "postinstall"];

const root = process.argv[2] ?? ".";
const lockfile = readJson(join(root, "package-lock.json"));
const own = readJson(join(root, "package.json"));

const folders = productionFolders(lockfile.packages);
const packages = folders.length + (own.private ? 0 : 1);
const parts = [
  ...folders.map((path) => ({ path, size: bytesOf(join(root, path)) })),
  ...(own.private ? [] : partsOfPackage()),
].sort((a, b) => b.size - a.size);
const bytes = parts.reduce((sum, { size }) => sum + size, 0);

const problems = [
  ...folders.flatMap((folder) =>
    scriptsOf(join(root, folder)).map((script) => `${folder} runs a script at install: ${script}`),
  ),
  // npm warns of a package that has the script `prepare`.
  ...[...installScripts, "prepare"]
    .filter((name) => own.scripts?.[name] !== undefined)
    .map((name) => `${own.name} itself runs a script at install: ${name}`),
];
if (packages > mostPackages) {
  problems.push(`An install brings ${packages} packages; the limit is ${mostPackages}: ${folders.join(", ")}`);
}
if (bytes > mostBytes) problems.push(`An install takes ${megabytes(bytes)}; the limit is ${megabytes(mostBytes)}.`);

for (const problem of problems) console.error(problem);
console.log(`An install brings ${packages} packages, ${megabytes(bytes)}:`);
for (const { path, size } of parts) console.log(`${megabytes(size).padStart(10)}  ${path}`);
process.exitCode = problems.length > 0 ? 1 : 0;

/** The folders of all packages that an install always brings: no dev dependencies, no optional peers. */
function productionFolders(packages) {
  return Object.entries(packages)
    .filter(([folder, entry]) => folder !== "" && !entry.dev && !entry.devOptional && !entry.peer)
    .map(([folder]) => folder);
}

/** A `binding.gyp` counts as an install script: npm runs node-gyp because of it. */
function scriptsOf(folder) {
  const { scripts = {} } = readJson(join(folder, "package.json"));
  const named = installScripts.filter((name) => scripts[name] !== undefined);
  return existsSync(join(folder, "binding.gyp")) ? [...named, "binding.gyp"] : named;
}

/** What npm puts into the package, by the first folder of its path. */
function partsOfPackage() {
  const args = ["pack", "--dry-run", "--json", "--ignore-scripts", "--loglevel=error"];
  const [{ files }] = JSON.parse(execFileSync("npm", args, { cwd: root, encoding: "utf8" }));
  const sizes = new Map();
  for (const { path, size } of files) {
    const [part] = path.split("/");
    sizes.set(part, (sizes.get(part) ?? 0) + size);
  }
  return [...sizes].map(([path, size]) => ({ path, size }));
}

function bytesOf(path) {
  if (!existsSync(path)) return 0;
  const entry = statSync(path);
  if (!entry.isDirectory()) return entry.size;
  return readdirSync(path, { recursive: true })
    .map((file) => statSync(join(path, file)))
    .reduce((sum, inner) => sum + (inner.isFile() ? inner.size : 0), 0);
}

function readJson(path) {
  return JSON.parse(readFileSync(path, "utf8"));
}

function megabytes(count) {
  return `${(count / 1024 / 1024).toFixed(2)} MiB`;
}

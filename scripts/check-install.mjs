/**
 * What a user's `npm install` brings: at most 8 packages, of a bounded size, none of which runs a script when it is installed.
 *
 *     node scripts/check-install.mjs [FOLDER]     the package in this folder, by default here; it must be installed and built
 *
 * A folder whose package is private counts for nothing itself: it is where the package was installed.
 */
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";

const mostPackages = 8;
const mostBytes = 4 * 1024 * 1024;
const installScripts = ["preinstall", "install", "postinstall"];

const root = process.argv[2] ?? ".";
const lockfile = readJson(join(root, "package-lock.json"));
const own = readJson(join(root, "package.json"));

const folders = productionFolders(lockfile.packages);
const packages = folders.length + (own.private ? 0 : 1);
const bytes = [...folders, ...(own.private ? [] : own.files)]
  .map((path) => bytesOf(join(root, path)))
  .reduce((sum, size) => sum + size, 0);

const problems = [
  ...folders.flatMap((folder) =>
    scriptsOf(join(root, folder)).map((script) => `${folder} runs a script at install: ${script}`),
  ),
  ...installScripts
    .filter((name) => own.scripts?.[name] !== undefined)
    .map((name) => `${own.name} itself runs a script at install: ${name}`),
];
if (packages > mostPackages) {
  problems.push(`An install brings ${packages} packages; ${mostPackages} are the most: ${folders.join(", ")}`);
}
if (bytes > mostBytes) problems.push(`An install takes ${megabytes(bytes)}; ${megabytes(mostBytes)} is the most.`);

for (const problem of problems) console.error(problem);
console.log(`An install brings ${packages} packages, ${megabytes(bytes)}.`);
process.exitCode = problems.length > 0 ? 1 : 0;

/** The folders of everything that is installed without being asked for: no dev dependencies, no optional peers. */
function productionFolders(packages) {
  return Object.entries(packages)
    .filter(([folder, entry]) => folder !== "" && !entry.dev && !entry.devOptional && !entry.peer)
    .map(([folder]) => folder);
}

/** A `binding.gyp` makes npm run node-gyp, as if an install script said so. */
function scriptsOf(folder) {
  const { scripts = {} } = readJson(join(folder, "package.json"));
  const named = installScripts.filter((name) => scripts[name] !== undefined);
  return existsSync(join(folder, "binding.gyp")) ? [...named, "binding.gyp"] : named;
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

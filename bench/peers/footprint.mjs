/**
 * W6: how long the main entry takes to import, over a bare Node, and the size of an install of the package.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { median } from "../report.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const root = dirname(dirname(here));

export async function footprints(contenders, { node, rounds }) {
  const rows = contenders.map((one) => ({ name: one.name, ...sourceOf(one), times: [] }));
  const bare = [];
  for (let round = 0; round < rounds; round += 1) {
    bare.push(timeOf(node, ""));
    for (const row of rows) if (row.failure === undefined) addTime(row, node);
  }
  return rows.map(({ name, failure, times, ...installed }) =>
    failure === undefined
      ? { name, importMs: median(times) - median(bare), packages: installed.packages, bytes: installed.bytes }
      : { name, failure },
  );
}

function sourceOf(contender) {
  try {
    if (contender.package === "pawl")
      return { entry: pathToFileURL(join(root, "dist/index.js")).href, ...ownInstall() };
    return { entry: contender.entry ?? contender.package, ...install([contender.package, ...(contender.with ?? [])]) };
  } catch (error) {
    return { failure: error.message };
  }
}

function addTime(row, node) {
  try {
    row.times.push(timeOf(node, `await import(${JSON.stringify(row.entry)}); process.exit(0)`));
  } catch (error) {
    row.failure = error.message;
  }
}

/** Milliseconds from the start of a Node to its end. */
function timeOf(node, program) {
  const before = performance.now();
  const { status, stderr } = spawnSync(node, ["--input-type=module", "-e", program], { cwd: here, encoding: "utf8" });
  const taken = performance.now() - before;
  if (status !== 0) throw new Error(stderr.split("\n").find((line) => /Error/.test(line)) ?? "the import failed");
  return taken;
}

/** The packed package with its dependencies, without its optional peers. */
function ownInstall() {
  const packed = execFileSync("npm", ["pack", "--dry-run", "--json", "--ignore-scripts"], {
    cwd: root,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "ignore"],
  });
  const [{ unpackedSize }] = JSON.parse(packed);
  const { dependencies } = manifestOf(root);
  const folders = closure(Object.keys(dependencies).map((name) => folderOf(name, root)));
  return { packages: folders.size + 1, bytes: unpackedSize + totalOf(folders) };
}

function install(names) {
  const folders = closure(names.map((name) => folderOf(name, here)));
  return { packages: folders.size, bytes: totalOf(folders) };
}

/**
 * The folders of these packages, and of all packages that npm installs with them: dependencies, and peers that are
 * not optional.
 */
function closure(folders) {
  const seen = new Set();
  const waiting = [...folders];
  for (let folder = waiting.pop(); folder !== undefined; folder = waiting.pop()) {
    if (folder === null || seen.has(folder)) continue;
    seen.add(folder);
    const manifest = manifestOf(folder);
    const { dependencies = {}, optionalDependencies = {}, peerDependencies = {}, peerDependenciesMeta = {} } = manifest;
    const peers = Object.keys(peerDependencies).filter((name) => peerDependenciesMeta[name]?.optional !== true);
    for (const name of [...Object.keys(dependencies), ...Object.keys(optionalDependencies), ...peers])
      waiting.push(folderOf(name, folder));
  }
  return seen;
}

/**
 * The folder in which a package finds another; null if that is not installed, for example an optional package of
 * another system.
 */
function folderOf(name, from) {
  for (let folder = from; ; folder = dirname(folder)) {
    const candidate = join(folder, "node_modules", name);
    if (existsSync(join(candidate, "package.json"))) return candidate;
    if (folder === dirname(folder)) return null;
  }
}

function manifestOf(folder) {
  return JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
}

function totalOf(folders) {
  let bytes = 0;
  for (const folder of folders) bytes += bytesIn(folder);
  return bytes;
}

/** Bytes of the files of a package, without the packages within it. */
function bytesIn(folder) {
  let bytes = 0;
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) bytes += entry.name === "node_modules" ? 0 : bytesIn(path);
    else if (entry.isFile()) bytes += statSync(path).size;
  }
  return bytes;
}

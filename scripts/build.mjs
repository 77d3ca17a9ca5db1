/**
 * Builds `dist`, the package: the types that an entry point reaches, as the compiler writes them, and one JavaScript file for each entry
 * point beside the chunks that they share. With a file for each module, importing Pawl takes twice as long. The clients of model providers
 * that the command line brings are bundled apart, into dist/clients: scripts/clients.mjs. dist/web is for runtimes that have Web APIs only:
 * scripts/web.mjs.
 *
 * temp/build has the code and the types of each module.
 */
import { spawnSync } from "node:child_process";
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
} from "node:fs";
import { createRequire, isBuiltin } from "node:module";
import { dirname, join, relative, resolve } from "node:path";
import { rolldown } from "rolldown";
import ts from "typescript";
import { buildClients, clientImports, isClient } from "./clients.mjs";
import { buildInspector, inspectorFiles } from "./inspector.mjs";
import { writeThirdParty } from "./third-party.mjs";
import { buildWeb } from "./web.mjs";

const modules = "temp/build";
const { exports, bin } = JSON.parse(readFileSync("package.json", "utf8"));

/**
 * Each entry point of the library is a module that exports what its source exports. Rolldown counts all of an entry point as used wherever
 * it is imported: with the sources as entry points, a command that imports only PawlError from "../index.js" would load the whole library.
 */
const libraryEntry = "\0entry:";
const libraryEntries = {
  name: "library-entries",
  resolveId: (id) => (id.startsWith(libraryEntry) ? id : null),
  load: (id) =>
    id.startsWith(libraryEntry)
      ? `export * from ${JSON.stringify(resolve(modules, `${id.slice(libraryEntry.length)}.js`))};`
      : null,
};

/** Commands that read sessions and configuration, and load no agent. */
const readers = ["sessions", "approvals", "schedule", "trace", "config", "trust", "permissions"];

/** The order counts: a chunk takes its modules with all that they import and no chunk before it has. */
const chunks = ["start", "data", "platform", "client", "core-common", "common", "core", "reading", "library"];

console.log("Building Pawl into dist: types, then one file for each entry point (about 10 seconds).");
const compiler = join(dirname(createRequire(import.meta.url).resolve("typescript/package.json")), "bin/tsc");
const compiled = spawnSync(process.execPath, [compiler, "-p", "tsconfig.build.json"], { stdio: "inherit" });
if (compiled.status !== 0) process.exit(compiled.status ?? 1);
removeStale();
rmSync("dist", { recursive: true, force: true });
writeDeclarations();
await bundle();

// npm sets the executable bit and links the command when it installs a package, but not in a clone.
chmodSync(bin.pawl, 0o755);
// Without it, npx in a clone installs the clone into its cache and builds it once more.
if (process.platform !== "win32" && existsSync("node_modules/.bin")) {
  rmSync("node_modules/.bin/pawl", { force: true });
  symlinkSync(`../../${bin.pawl}`, "node_modules/.bin/pawl");
}

/** Removes the files whose source is gone: the compiler writes only what has changed since its last run. */
function removeStale() {
  for (const file of readdirSync(modules, { recursive: true })) {
    const source = /^(.*?)(\.d\.ts|\.js)$/.exec(file)?.[1];
    if (source !== undefined && !existsSync(join("src", `${source}.ts`))) rmSync(join(modules, file));
  }
}

/** The declarations of the entry points, and all that these import. Nobody can import the others: they would be a twentieth of an install. */
function writeDeclarations() {
  const written = new Set();
  const waiting = Object.values(exports).flatMap((entry) => {
    const types = entry.types ?? (/\.js$/.test(entry) ? entry.replace(/\.js$/, ".d.ts") : undefined);
    return types === undefined ? [] : [resolve(types)];
  });
  for (const target of waiting) {
    if (written.has(target)) continue;
    written.add(target);
    const source = join(modules, relative("dist", target));
    mkdirSync(dirname(target), { recursive: true });
    copyFileSync(source, target);
    const { importedFiles } = ts.preProcessFile(readFileSync(source, "utf8"));
    for (const { fileName } of importedFiles)
      if (fileName.startsWith(".")) waiting.push(resolve(dirname(target), fileName.replace(/\.js$/, ".d.ts")));
  }
}

/** Does not bundle other packages, but for the clients: they are installed beside Pawl. */
async function bundle() {
  const files = [...Object.values(exports), bin.pawl];
  const entries = files.flatMap((entry) => {
    const [, name] = /^(?:\.\/)?dist\/(.*)\.js$/.exec(entry.default ?? entry) ?? [];
    if (name === undefined) return [];
    // Programs export nothing: they are run.
    return [[name, typeof entry === "string" ? resolve(modules, `${name}.js`) : `${libraryEntry}${name}`]];
  });
  const build = await rolldown({
    input: Object.fromEntries(entries),
    platform: "node",
    plugins: [libraryEntries, clientImports, inspectorFiles],
    external: (id) => isBuiltin(id) || (/^[^./\0]/.test(id) && !isClient(id)),
  });
  // The docstrings are in the declarations: editors read them there.
  const comments = { legal: true, annotation: true, jsdoc: false };
  const options = { dir: "dist", format: "esm", chunkFileNames: "chunks/[name].js", comments };
  const starts = findStarts(await build.generate(options));
  const groups = chunks.map((name) => ({ name, test: (id) => chunkOf(id, starts.get(id)) === name }));
  await build.write({ ...options, codeSplitting: { groups } });
  await build.close();
  writeThirdParty([...(await buildClients()), ...(await buildWeb(modules)), ...(await buildInspector())]);
}

/** For each module, the entry points and commands that load it without `import()`. */
function findStarts({ output }) {
  const chunks = new Map(output.filter(({ type }) => type === "chunk").map((chunk) => [chunk.fileName, chunk]));
  const starts = new Map();
  for (const start of chunks.values()) {
    if (!start.isEntry && !start.isDynamicEntry) continue;
    const loaded = new Set([start]);
    for (const { moduleIds, imports } of loaded) {
      for (const id of moduleIds) starts.set(id, (starts.get(id) ?? new Set()).add(start.name));
      for (const file of imports) if (chunks.has(file)) loaded.add(chunks.get(file));
    }
  }
  return starts;
}

/**
 * The chunk of a module that `import "pawl"` loads. With a chunk for each set of starts that need it, which is what the bundler makes of all
 * other modules, there would be 60 files, and half of the import would be reading them. What the client and `./core` load is apart, because
 * they need no Node. So is what the first frame of a conversation needs, what nearly all commands load, and what some of those load that
 * run no agent.
 */
function chunkOf(id, starts = new Set()) {
  if (starts.has("cli/main") && !/[\\/]build[\\/]cli[\\/]/.test(id)) return "start";
  if (/[\\/]build[\\/]core[\\/]data[\\/]/.test(id)) return "data";
  if (/[\\/]build[\\/](?:platform|ports)[\\/]/.test(id)) return "platform";
  if (!starts.has("index")) return null;
  if (starts.has("server/client/index")) return "client";
  const count = readers.filter((reader) => starts.has(reader)).length;
  const isCommon = starts.has("run-program") || count >= 3;
  if (starts.has("core/index")) return isCommon ? "core-common" : "core";
  if (isCommon) return "common";
  return count > 0 ? "reading" : "library";
}

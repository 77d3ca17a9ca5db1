/**
 * Tests the package as users get it: packed to temp/pawl.tgz, installed by npm into an empty folder outside this
 * checkout, and used there, on this Node and, if it can be installed, on Node 24. With `--everywhere` also on Node 22, in
 * Bun and in Deno.
 *
 *   1. The install is small, runs no script, and the pages in it have no broken links.
 *   2. With nothing else installed, every entry point loads, its types compile (those of other packages are checked, too), and the
 *      command line starts. Parts that need an optional peer report that it is missing.
 *   3. With the packages that the README names, the README's program works. Its model is a local server.
 *   4. With the packages that they import, the examples of the package work as copies that a user made, on the newest Node. So do the
 *      commands at the top of their page.
 *   5. The project that `pawl init` creates installs, compiles, passes its tests, and runs: in the terminal, and as a page.
 *   6. publint and attw ("are the types wrong") find nothing.
 */
import assert from "node:assert/strict";
import { execFile, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { createRequire, isBuiltin } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { rolldown } from "rolldown";
import { node24, nodeOf } from "./install-node.mjs";

const { name, bin, exports, devDependencies } = JSON.parse(readFileSync("package.json", "utf8"));
const tarball = resolve("temp/pawl.tgz");
const isEverywhere = process.argv.includes("--everywhere");
const nodes = [...new Set([process.execPath, isEverywhere ? nodeOf(22) : null, node24()])].filter(
  (node) => node !== null,
);
/** The types of these entry points need packages that are not installed. */
const typedByPeers = ["./tools/mcp", "./protocols/opentelemetry", "./restate"];

mkdirSync("temp", { recursive: true });
// Without scripts, because packing would build again while other processes use the current build.
const packed = run("npm", ["pack", "--ignore-scripts", "--json", "--pack-destination", "temp"]);
renameSync(join("temp", JSON.parse(packed)[0].filename), tarball);

const folder = mkdtempSync(join(tmpdir(), "pawl-package-"));
try {
  writeFileSync(join(folder, "package.json"), JSON.stringify({ private: true, type: "module" }));
  install(tarball);
  checkBare();
  await checkReadme();
  checkExamples();
  checkExamplesPage(nodes.at(-1));
  await checkStarter();
} finally {
  rmSync(folder, { recursive: true, force: true });
}
lint("publint", "run", tarball, "--strict");
lint("attw", tarball, "--profile", "esm-only", "--no-emoji", "--no-color");

/** Runs a program of scripts/checks on the tarball, and shows what it prints. */
function lint(...programArguments) {
  const { status } = spawnSync(process.execPath, ["scripts/checks/run.mjs", ...programArguments], { stdio: "inherit" });
  assert.equal(status, 0, `${programArguments[0]} found something.`);
}

function install(...packages) {
  run("npm", ["install", "--prefer-offline", "--no-audit", "--no-fund", ...packages], { cwd: folder });
}

/** Checks the package with nothing else installed. */
function checkBare() {
  console.log(run(process.execPath, [resolve("scripts/check-install.mjs"), folder]).trimEnd());
  const { scripts } = JSON.parse(readFileSync(join(folder, "node_modules", name, "package.json"), "utf8"));
  for (const script of ["preinstall", "install", "postinstall", "prepare"]) assert.ok(!(script in scripts), script);
  run(process.execPath, [resolve("scripts/check-docs.mjs")], { cwd: join(folder, "node_modules", name) });

  const typed = Object.keys(exports).filter((path) => !path.endsWith(".json") && !typedByPeers.includes(path));
  checkTypes("entries.ts", typed.map((entry) => `import "${join(name, entry)}";`).join("\n"), { skipLibCheck: false });

  copyFileSync("scripts/package/without-peers.mjs", join(folder, "without-peers.mjs"));
  for (const node of nodes) {
    console.log(run(node, ["without-peers.mjs"], { cwd: folder }).trimEnd());
    for (const path of Object.values(bin)) run(node, [join("node_modules", name, path), "--help"], { cwd: folder });
  }
}

/** Runs the README's only program, unchanged. */
async function checkReadme() {
  const [program, ...others] = [...readFileSync("README.md", "utf8").matchAll(/^```ts\n(.*?)^```$/gms)];
  assert.ok(program !== undefined && others.length === 0, "The README has one program.");
  const source = program[1];
  const named = [...source.matchAll(/^import .* from "([^"]+)";/gm)]
    .map(([, specifier]) => specifier)
    .filter((specifier) => specifier in devDependencies);
  const needed = isBuiltin("node:sqlite") ? [] : ["libsql"];
  install(...[...named, ...needed].map((dependency) => `${dependency}@${lockedVersion(dependency)}`));

  copyFileSync("scripts/package/readme-world.d.ts", join(folder, "readme-world.d.ts"));
  copyFileSync("scripts/package/readme-world.mjs", join(folder, "readme-world.mjs"));
  checkTypes("readme.ts", source);
  await bundle({ input: join(folder, "readme.ts"), external: /^[^./]/ }, join(folder, "readme.mjs"));

  const { startProviderServer } = await testServer();
  for (const node of nodes) {
    const small = await runReadme(node, startProviderServer, 4_900);
    assert.deepEqual(
      small.happened.refunds.map(({ order, cents }) => ({ order, cents })),
      [{ order: "1041", cents: 4_900 }],
    );
    assert.match(small.happened.refunds[0].idempotencyKey, /./);
    assert.deepEqual(small.lines, ["It is refunded."]);
    assert.deepEqual(small.happened.told, []);

    const large = await runReadme(node, startProviderServer, 20_000);
    assert.deepEqual([large.happened.refunds, large.lines], [[], []]);
    assert.deepEqual(
      large.happened.told.map(({ name, input }) => ({ name, input })),
      [{ name: "refund", input: { order: "1041", cents: 20_000 } }],
    );
    console.log(
      `The README's program makes small refunds, and asks about large ones, on ${run(node, ["--version"]).trim()}.`,
    );
  }
}

/** Runs the examples that the package brings. */
function checkExamples() {
  cpSync(join(folder, "node_modules", name, "examples"), join(folder, "examples"), { recursive: true });
  // A project of its own, with packages of its own: `npm run chat` checks it.
  rmSync(join(folder, "examples/chat"), { recursive: true });
  const sources = readdirSync(join(folder, "examples"), { recursive: true })
    .filter((file) => file.endsWith(".ts"))
    .map((file) => readFileSync(join(folder, "examples", file), "utf8"));
  const peers = ["@modelcontextprotocol/client", "libsql"];
  const imported = Object.keys(devDependencies).filter((dependency) =>
    sources.some((source) => new RegExp(`from "${dependency}["/]`).test(source)),
  );
  install(...[...new Set([...peers, ...imported])].map((dependency) => `${dependency}@${lockedVersion(dependency)}`));
  const compilerOptions = {
    module: "nodenext",
    target: "es2023",
    types: ["node"],
    typeRoots: [resolve("node_modules/@types")],
    strict: true,
    skipLibCheck: true,
    rootDir: "examples",
    outDir: "temp/examples",
  };
  writeFileSync(join(folder, "tsconfig.examples.json"), JSON.stringify({ compilerOptions, include: ["examples"] }));
  const inFolder = (node, more) =>
    console.log(run(node, [resolve("scripts/examples.mjs"), ...more], { cwd: folder }).trimEnd());
  // `npm run examples` runs the same files on this Node.
  for (const node of isEverywhere ? nodes : nodes.slice(-1)) inFolder(node, []);
  if (isEverywhere) for (const runtime of ["bun", "deno"]) inFolder(process.execPath, ["--in", runtime]);
}

/** Runs the commands of the examples' page, with this package and with the versions that this checkout is tested with. */
function checkExamplesPage(node) {
  const project = mkdtempSync(join(tmpdir(), "pawl-examples-"));
  try {
    const page = readFileSync(join(folder, "node_modules", name, "examples/README.md"), "utf8");
    const [compiled, direct] = [...page.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, commands]) => commands);
    const runsTypeScript = run(node, ["-p", "Boolean(process.features.typescript)"]).trim() === "true";
    const pinned = `${compiled}${runsTypeScript ? direct : ""}`
      .replace(/^npm install pawl/m, `npm install ${tarball}`)
      .replace(
        /(?<= )(libsql|typescript|@types\/node)(?= |$)/gm,
        (dependency) => `${dependency}@${lockedVersion(dependency)}`,
      )
      .replaceAll("npm install", "npm install --prefer-offline --no-audit --no-fund");
    const env = { ...process.env, PATH: `${dirname(node)}:${process.env.PATH}` };
    run("sh", ["-e", "-c", pinned], { cwd: project, env });
    console.log(`The commands of the examples' page work on ${run(node, ["--version"]).trim()}.`);
  } finally {
    rmSync(project, { recursive: true, force: true });
  }
}

/** Does what a newcomer does with `pawl init`. The packages have the versions that this checkout is tested with. */
async function checkStarter() {
  const project = mkdtempSync(join(tmpdir(), "pawl-starter-"));
  const env = { PATH: process.env.PATH, HOME: project, PAWL_HOME: join(project, "home"), PAWL_MODEL: "demo" };
  const inProject = (command, options = {}) => run("sh", ["-e", "-c", command], { cwd: project, env, ...options });
  try {
    run(process.execPath, [join(folder, "node_modules", name, bin.pawl), "init", "."], { cwd: project, env });
    const manifest = JSON.parse(readFileSync(join(project, "package.json"), "utf8"));
    const pin = (dependencies) =>
      Object.fromEntries(
        Object.keys(dependencies).map((dependency) => [
          dependency,
          dependency === name ? `file:${tarball}` : lockedVersion(dependency),
        ]),
      );
    const { dependencies, devDependencies } = manifest;
    const pinned = { ...manifest, dependencies: pin(dependencies), devDependencies: pin(devDependencies) };
    writeFileSync(join(project, "package.json"), JSON.stringify(pinned));
    run("npm", ["install", "--prefer-offline", "--no-audit", "--no-fund"], { cwd: project });
    assert.match(inProject("npm test"), /^# pass 2$/m);

    const refund = 'npm start -- "Find order 1041 and refund it"';
    const asked = inProject(refund, { input: "" });
    assert.match(asked, /^Using the demo model, not an LLM/m);
    assert.match(asked, /It waits for an answer/);
    assert.ok(!existsSync(join(project, "refunds.txt")));
    const allowed = inProject(refund, { input: "y\n" });
    assert.match(allowed, /^Refunded 2900 cents for order 1041\.$/m);
    assert.match(allowed, /^completed, session /m);
    assert.match(readFileSync(join(project, "refunds.txt"), "utf8"), /^2900 cents for order 1041 .*\n$/);

    // A group of processes of its own, because npm starts the server through a shell.
    const page = spawn("npm", ["run", "page", "--", "--port", "0"], { cwd: project, env, detached: true });
    const ended = once(page, "close");
    for (let said = ""; !said.includes("/#start="); ) {
      const [chunk] = await Promise.race([once(page.stderr, "data"), ended]);
      assert.ok(Buffer.isBuffer(chunk), `npm run page ended: ${said}`);
      said += chunk;
    }
    process.kill(-page.pid, "SIGTERM");
    await ended;
    console.log("The project of pawl init installs, compiles, passes its tests and runs.");
  } finally {
    rmSync(project, { recursive: true, force: true });
  }
}

/** Runs the program with a model that requests a refund of this many cents and then reports it. */
async function runReadme(node, startProviderServer, cents) {
  const server = await startProviderServer("anthropic-messages", [
    { type: "answer", calls: [{ name: "refund", input: { order: "1041", cents } }] },
    { type: "answer", text: "It is refunded." },
  ]);
  try {
    const { stdout } = await promisify(execFile)(node, ["--import", "./readme-world.mjs", "readme.mjs"], {
      cwd: folder,
      env: { PATH: process.env.PATH, ANTHROPIC_API_KEY: "no key", ANTHROPIC_BASE_URL: server.baseURL },
      timeout: 60_000,
    });
    const lines = stdout.trimEnd().split("\n");
    return { happened: JSON.parse(lines.pop()), lines };
  } finally {
    await server.close();
  }
}

/** Starts the tests' model provider, which speaks Anthropic's protocol. */
async function testServer() {
  const compiled = resolve("temp/provider-server.mjs");
  await bundle({ input: "test/models/provider-server.ts", platform: "node" }, compiled);
  return import(pathToFileURL(compiled).href);
}

async function bundle(options, file) {
  const build = await rolldown(options);
  await build.write({ file, format: "esm" });
  await build.close();
}

/** Compiles a program in the folder with strict options. Fails on any error. */
function checkTypes(file, source, options = {}) {
  writeFileSync(join(folder, file), `${source}\nexport {};\n`);
  const compilerOptions = {
    module: "nodenext",
    target: "es2023",
    lib: ["es2023"],
    types: ["node"],
    typeRoots: [resolve("node_modules/@types")],
    strict: true,
    exactOptionalPropertyTypes: true,
    skipLibCheck: true,
    noEmit: true,
    ...options,
  };
  const files = [file, ...(file === "readme.ts" ? ["readme-world.d.ts"] : [])];
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, files }));
  const compiler = createRequire(import.meta.url).resolve("typescript/lib/tsc.js");
  const { status, stdout, stderr } = spawnSync(process.execPath, [compiler, "--pretty", "false"], {
    cwd: folder,
    encoding: "utf8",
  });
  assert.ok(status === 0 || stdout.includes("error TS"), `The compiler failed: ${stderr}`);
  assert.deepEqual(
    stdout.split("\n").filter((line) => /error TS\d+/.test(line)),
    [],
  );
}

/** The version of a package that this checkout is tested with. */
function lockedVersion(dependency) {
  return JSON.parse(readFileSync("package-lock.json", "utf8")).packages[`node_modules/${dependency}`].version;
}

/** Runs a command to its end and returns its standard output. If it fails, the check ends with its output. */
function run(command, commandArguments, options = {}) {
  const { status, stdout, stderr, error } = spawnSync(command, commandArguments, { encoding: "utf8", ...options });
  if (status === 0) return stdout;
  throw new Error(`${command} ${commandArguments.join(" ")}\n${stdout ?? ""}${stderr ?? error?.message ?? ""}`);
}

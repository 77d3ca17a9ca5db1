/**
 * Tries the newest version of each client whose protocol Pawl speaks, whatever its major: `npm run next-majors`. It is made
 * for every night: the versions that the other tests use are pinned.
 *
 *     npm run next-majors                     the newest releases
 *     npm run next-majors -- --tag beta       what has this tag, where there is one
 *     npm run next-majors -- --without chat   the protocol tests alone
 *
 * Installs the clients into temp/next-majors, runs the tests of the protocols with them in place of the pinned ones, then
 * builds examples/chat on the newest `useChat` and drives it in Chromium. Needs the built package.
 */
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";

const { values } = parseArgs({ options: { tag: { type: "string" }, without: { type: "string" } } });
if (values.without !== undefined && values.without !== "chat") {
  console.error("Usage: npm run next-majors [-- --tag TAG] [-- --without chat]");
  process.exit(2);
}
const folder = resolve("temp/next-majors");
const own = JSON.parse(readFileSync("package.json", "utf8")).devDependencies;
const checks = JSON.parse(readFileSync("scripts/checks/package.json", "utf8")).dependencies;
const page = JSON.parse(readFileSync("examples/chat/package.json", "utf8"));

/** The name under which the tests know a client → the package, and the version that they use otherwise. */
const clients = [
  { as: "ai-v7", name: "ai", pinned: checks["ai-v7"].split("@").at(-1) },
  { as: "@ag-ui/client", name: "@ag-ui/client", pinned: checks["@ag-ui/client"] },
  ...["@agentclientprotocol/sdk", "@modelcontextprotocol/client"].map((name) => ({
    as: name,
    name,
    pinned: own[name],
  })),
];
const newest = new Map(["@ai-sdk/react", ...clients.map(({ name }) => name)].map((name) => [name, newestOf(name)]));
for (const { name, pinned } of [...clients, { name: "@ai-sdk/react", pinned: page.dependencies["@ai-sdk/react"] }])
  console.log(`${name}: ${newest.get(name)} (elsewhere ${pinned})`);

rmSync(folder, { recursive: true, force: true });
const failed = [];
step("the protocols", tryProtocols);
if (values.without !== "chat") step("examples/chat", tryPage);
if (failed.length > 0) {
  console.error(`The newest clients fail: ${failed.join(", ")}.`);
  process.exit(1);
}
console.log("The newest clients pass.");

function step(name, act) {
  try {
    act();
  } catch (error) {
    console.error(error.message);
    failed.push(name);
  }
}

function tryProtocols() {
  const dependencies = Object.fromEntries(
    clients.map(({ as, name }) => [as, as === name ? newest.get(name) : `npm:${name}@${newest.get(name)}`]),
  );
  install(join(folder, "clients"), { private: true, dependencies });
  const tests = ["test/protocols", "test/server/mcp.test.ts", "test/cli/acp", "test/cli/mcp.long"];
  run("npx", ["vitest", "run", ...tests], { env: { ...process.env, PAWL_CLIENTS: join(folder, "clients") } });
}

function tryPage() {
  const copy = join(folder, "chat");
  const isOurs = (path) => !/\/(?:node_modules|dist|data)(?:\/|$)/.test(path.slice(resolve("examples/chat").length));
  cpSync(resolve("examples/chat"), copy, { recursive: true, filter: isOurs });
  rmSync(join(copy, "package-lock.json"));
  const dependencies = { ...page.dependencies, pawl: `file:${resolve(".")}` };
  for (const name of ["ai", "@ai-sdk/react"]) dependencies[name] = newest.get(name);
  install(copy, { ...page, dependencies });
  run("node", ["scripts/chat.mjs", "--folder", copy]);
}

function newestOf(name) {
  const tags = JSON.parse(run("npm", ["view", name, "dist-tags", "--json"], { stdio: "pipe" }));
  return tags[values.tag] ?? tags.latest;
}

function install(cwd, manifest) {
  mkdirSync(cwd, { recursive: true });
  writeFileSync(join(cwd, "package.json"), JSON.stringify(manifest, null, 2));
  run("npm", ["install", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"], { cwd });
}

/** Gives what it prints if that is piped. @throws Error if it fails */
function run(command, options, given = {}) {
  const { status, stdout } = spawnSync(command, options, { stdio: "inherit", encoding: "utf8", ...given });
  if (status !== 0) throw new Error(`${command} ${options.join(" ")} failed`);
  return stdout;
}

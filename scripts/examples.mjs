/**
 * Runs the examples against the built package, as a user would. Each is a program that checks its own result.
 *
 *     npm run examples                 all of them
 *     npm run examples -- NAME …       these
 *     npm run examples -- --in bun     in Bun, or deno in Deno, from an npm package of their binaries
 *
 * The examples are those of the current folder, with the packages that are installed there.
 * scripts/check-package.mjs runs those of an installed package.
 *
 * An example is examples/NAME.ts, examples/NAME/main.ts, or a recipe: examples/recipes/NAME.ts, named recipes/NAME. Of the project in
 * examples/starter, the tests run. An example runs in an empty folder with its own PAWL_HOME, and without the environment's model
 * keys. It fails if its exit code is not 0, or if it takes longer than a minute.
 */
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join, posix, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { install, leftOut, start } from "./runtimes/binaries.mjs";

const timeoutMs = 60_000;

const [first, runtime, ...rest] = process.argv.slice(2);
const isElsewhere = first === "--in";
if (isElsewhere && start[runtime] === undefined) stop(2, `There is no runtime "${runtime}": bun, deno.`);
/** A folder for each runtime: `npm run verify` may run the examples in several at the same time. */
const compiled = isElsewhere ? `temp/examples-in-${runtime}` : "temp/examples";
const asked = isElsewhere ? rest : process.argv.slice(2);
const command = isElsewhere ? [install(runtime), ...start[runtime]] : [process.execPath];
const examples = findExamples().filter(({ name }) => !isElsewhere || !leftOut[runtime].includes(name));
for (const name of asked) {
  if (!examples.some((example) => example.name === name)) stop(2, `There is no example "${name}".`);
}
if (examples.length === 0) stop(0, "There are no examples.");

compile();
const failed = examples
  .filter(({ name }) => asked.length === 0 || asked.includes(name))
  .filter((example) => !succeeds(example))
  .map(({ name }) => name);
if (failed.length > 0) stop(1, `Examples that failed: ${failed.join(", ")}`);

function findExamples(folder = "") {
  if (!existsSync(join("examples", folder))) return [];
  return readdirSync(join("examples", folder), { withFileTypes: true }).flatMap((entry) => {
    if (entry.isFile() && entry.name.endsWith(".ts")) {
      const name = posix.join(folder, entry.name.slice(0, -".ts".length));
      return [{ name, program: join(compiled, `${name}.js`) }];
    }
    if (entry.isDirectory() && entry.name === "recipes") return findExamples("recipes");
    if (entry.name === "starter") return [{ name: "starter", program: join(compiled, "starter/src/agent.test.js") }];
    if (entry.isDirectory() && existsSync(join("examples", entry.name, "main.ts"))) {
      return [{ name: entry.name, program: join(compiled, entry.name, "main.js") }];
    }
    return [];
  });
}

function compile() {
  const compiler = join(dirname(createRequire(import.meta.url).resolve("typescript/package.json")), "bin/tsc");
  rmSync(compiled, { recursive: true, force: true });
  const options = ["-p", "tsconfig.examples.json", "--outDir", compiled];
  const { status } = spawnSync(process.execPath, [compiler, ...options], { stdio: "inherit" });
  if (status !== 0) stop(1, "The examples do not compile.");
}

function succeeds({ name, program }) {
  const folder = mkdtempSync(join(tmpdir(), "pawl-example-"));
  const { status, signal, stdout, stderr } = spawnSync(command[0], [...command.slice(1), resolve(program)], {
    cwd: folder,
    env: {
      PATH: process.env.PATH,
      HOME: folder,
      PAWL_HOME: join(folder, "pawl"),
      // An example starts a published MCP server, which a user has installed beside Pawl.
      NODE_PATH: fileURLToPath(new URL("checks/node_modules", import.meta.url)),
    },
    encoding: "utf8",
    timeout: timeoutMs,
  });
  rmSync(folder, { recursive: true, force: true });
  if (status === 0) {
    console.log(`passed  ${name}`);
    return true;
  }
  console.error(
    `failed  ${name}: ${signal === null ? `exit code ${status}` : `ended by ${signal}`}\n${stdout}${stderr}`,
  );
  return false;
}

function stop(code, message) {
  (code === 0 ? console.log : console.error)(message);
  process.exit(code);
}
